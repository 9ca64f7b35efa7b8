//! A candidate: anything that can be called with the operands of one call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::params::Params;
use crate::{Error, Result};

/// Anything that is called with the operands of one call, type-erased: a function, a closure, a library's routine, or an operation that is
/// tuned itself.
///
/// What it does not compute it refuses by [`Error::unsupported`](crate::Error::unsupported), before it writes anything.
pub struct Op<P: Params>(Box<dyn Callable<P>>);

/// What an [`Op`] may be.
pub(super) trait Callable<P: Params>: Send + Sync {
    fn call(&self, call: &mut P::Call<'_>) -> Result<()>;

    /// Makes it ready to be tried on a proxy.
    fn prepare(&self, _proxy: &mut P::Proxy, _limit: Duration) -> Result<()> {
        Ok(())
    }
}

struct Function<F>(F);

impl<P: Params, F> Callable<P> for Function<F>
where
    F: for<'c, 'a> Fn(&'c mut P::Call<'a>) -> Result<()> + Send + Sync,
{
    fn call(&self, call: &mut P::Call<'_>) -> Result<()> {
        (self.0)(call)
    }
}

impl<P: Params> Op<P> {
    /// Forgets which type of callable it is.
    pub fn new(function: impl for<'c, 'a> Fn(&'c mut P::Call<'a>) -> Result<()> + Send + Sync + 'static) -> Op<P> {
        Op(Box::new(Function(function)))
    }

    /// One of another kind.
    pub(super) fn of(callable: impl Callable<P> + 'static) -> Op<P> {
        Op(Box::new(callable))
    }

    /// Computes a call.
    ///
    /// # Errors
    /// The callable's.
    #[inline]
    pub fn call(&self, call: &mut P::Call<'_>) -> Result<()> {
        self.0.call(call)
    }

    /// Makes it ready to be tried on a proxy: a nested operation is tuned on that.
    pub(super) fn prepare(&self, proxy: &mut P::Proxy, limit: Duration) -> Result<()> {
        self.0.prepare(proxy, limit)
    }

    /// Computes the proxy's call; a panic is an error of this candidate.
    pub(super) fn try_on(&self, proxy: &mut P::Proxy) -> Result<()> {
        caught(|| self.call(&mut P::call(proxy)))
    }
}

/// What a program's own code makes of something that is tried; a panic of it is an error.
///
/// # Errors
/// The code's.
pub(super) fn caught<T>(tried: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(tried)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<&str>().copied();
        let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Error::failed(format!("it panicked: {}", words.unwrap_or("without a word"))))
    })
}
