//! The host lab: this machine's kernel, as root, under wall time.
