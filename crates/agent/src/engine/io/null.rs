//! Does nothing, to measure the cost of the engine itself.

use super::{Engine, Queued, Request};

pub(in crate::engine) struct Null;

impl Engine for Null {
    #[inline(always)]
    unsafe fn queue(&mut self, request: &Request) -> Queued {
        Queued::Done(request.length as i64)
    }
}
