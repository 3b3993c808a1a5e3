# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of the command line, which ``cli`` registers."""
