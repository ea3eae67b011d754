"""Kernels for NVIDIA cards, written in Triton; imported only where one of them is to run."""
