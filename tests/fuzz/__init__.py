"""Random systems compared with an independent evaluation, in units from 1e-9 to 1e9."""
