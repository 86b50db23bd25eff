//! A corpus and a seed in, a tar file and what it holds out.
