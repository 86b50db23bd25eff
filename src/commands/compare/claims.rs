//! A run beside claims.
