"""The conformance suite."""

import os

# Read when PyTorch is loaded: threads that wait do not spin, which helps when tests run side by side.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
