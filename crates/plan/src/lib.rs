//! Catalogue and options in, ordered cells out; starts nothing.
