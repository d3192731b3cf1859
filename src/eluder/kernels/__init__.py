"""Hand-written kernels for accelerators. They compute what the plain code computes; nothing else depends on them."""
