# SPDX-License-Identifier: BSD-3-Clause
"""One motion on one core: ``dalembert`` beside other programs, to equal achieved error."""
