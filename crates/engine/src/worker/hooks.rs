//! What a worker tells whoever measures it. Every method does nothing unless it is written.

use super::context::Context;
use super::face::Face;
use super::jobs::Jobs;
use crate::Error;
use crate::heart::Cancelled;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::LostReason;

/// Called as things happen, from the worker's own tasks: be quick, and do not block. Of a worker of jobs, unless another
/// face is named.
pub trait Hooks<F: Face = Jobs>: Send + Sync + 'static {
    /// A claim brought this many units.
    fn claimed(&self, units: usize) {
        let _ = units;
    }

    /// A handler begins.
    fn started(&self, cx: &Context<F::Unit>) {
        let _ = cx;
    }

    /// A handler was told to stop.
    fn told_to_stop(&self, cx: &Context<F::Unit>, why: Cancelled) {
        let _ = (cx, why);
    }

    /// An ending was accepted, `took` after its handler had begun.
    fn ended(&self, cx: &Context<F::Unit>, act: &F::Act, ended: F::Ended, took: Duration) {
        let _ = (cx, act, ended, took);
    }

    /// An ending was refused: the lease was no longer held (L3).
    fn refused(&self, cx: &Context<F::Unit>, act: &F::Act, reason: LostReason) {
        let _ = (cx, act, reason);
    }

    /// The store does not answer; said once per outage.
    fn store_away(&self, error: &Error) {
        let _ = error;
    }
}

impl<F: Face, H: Hooks<F> + ?Sized> Hooks<F> for Arc<H> {
    fn claimed(&self, units: usize) {
        (**self).claimed(units);
    }

    fn started(&self, cx: &Context<F::Unit>) {
        (**self).started(cx);
    }

    fn told_to_stop(&self, cx: &Context<F::Unit>, why: Cancelled) {
        (**self).told_to_stop(cx, why);
    }

    fn ended(&self, cx: &Context<F::Unit>, act: &F::Act, ended: F::Ended, took: Duration) {
        (**self).ended(cx, act, ended, took);
    }

    fn refused(&self, cx: &Context<F::Unit>, act: &F::Act, reason: LostReason) {
        (**self).refused(cx, act, reason);
    }

    fn store_away(&self, error: &Error) {
        (**self).store_away(error);
    }
}

/// Nobody measures.
pub(super) struct Unwatched;

impl<F: Face> Hooks<F> for Unwatched {}
