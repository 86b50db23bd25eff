//! A cell in, a mounted file system out, in a guest or on this machine; measures nothing.
