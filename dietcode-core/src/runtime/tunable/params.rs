//! What an operation that is tuned has to say of its calls.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::key::Key;
use crate::Result;

/// A thousand times what reading the clock takes.
pub(super) const SAMPLE_TIME: Duration = Duration::from_micros(20);

/// A kind of call: what its operands are, what its speed depends on, and how candidates are tried without a change to the caller's data.
///
/// Candidates are tried on *proxies*: operands of the same sizes, layout and alignment in memory of their own. So an operand that is
/// read and written, as C is in C = α · A · B + β · C, is not written while the call is tuned, and the call has the same result with tuning
/// on and off, within the bound of [`Params::compare`]. A proxy is made once for a tuning, by the outermost operation, and dropped behind it.
///
/// It is a type of its own, beside that of the operands, since these borrow what they name: see [`TunableOp`](super::TunableOp) for a
/// whole example.
pub trait Params: 'static {
    /// The operands of one call.
    type Call<'a>;
    /// What candidates are tried on, by one thread or another.
    type Proxy: Send + 'static;
    /// What a call on a proxy has computed.
    type Output;

    /// Adds to a key what the fastest candidate depends on: sizes, types, layout, alignment, threads, device.
    ///
    /// # Errors
    /// If that cannot be told; the call then ends with it.
    fn key(call: &Self::Call<'_>, key: &mut Key) -> Result<()>;

    /// Whether there is anything to choose for a call. If not, the default runs.
    fn is_tuned(_call: &Self::Call<'_>) -> bool {
        true
    }

    /// Whether candidates can be tried now. If not, the default runs, unless something is known already, and a later call is tuned.
    fn can_be_tried(_call: &Self::Call<'_>) -> bool {
        true
    }

    /// Whether a call is like the one that a proxy was made of also in what no key has, such as the stream whose state
    /// [`can_be_tried`](Params::can_be_tried) asks for.
    fn is_of(_proxy: &Self::Proxy, _call: &Self::Call<'_>) -> bool {
        true
    }

    /// Makes a proxy of a call.
    ///
    /// # Errors
    /// If there is no memory for it; the default runs then.
    fn pre_tuning(call: &Self::Call<'_>) -> Result<Self::Proxy>;

    /// How often candidates are checked, on other values each time: what one candidate leaves out may make no difference to some.
    const VARIANTS: usize = 1;

    /// Has what calls on the proxy read hold the values of a variant, a number below [`VARIANTS`](Params::VARIANTS).
    fn vary(_proxy: &mut Self::Proxy, _variant: usize) {}

    /// Has what calls on the proxy write hold what it held at first, which is not what a call computes: an element that a candidate leaves
    /// out is found then.
    fn reset(proxy: &mut Self::Proxy);

    /// Has the next call read and write the next of several sets of operands that hold the same, where the proxy has them: what the call
    /// before has left in caches is no use to it. [`tuning::rotation`](super::tuning::rotation) says how many bytes all sets together
    /// should take.
    fn rotate(_proxy: &mut Self::Proxy) {}

    /// The proxy's operands.
    fn call(proxy: &mut Self::Proxy) -> Self::Call<'_>;

    /// What the last call on the proxy has computed.
    ///
    /// # Errors
    /// If there is no memory for it; the default runs then.
    fn output(proxy: &mut Self::Proxy) -> Result<Self::Output>;

    /// Compares what the last call on the proxy has computed with what the default computes, within a bound that follows from the
    /// types of the elements and the length of the reductions.
    ///
    /// # Errors
    /// A sentence that says where they differ, and by how much.
    fn compare(proxy: &mut Self::Proxy, expected: &Self::Output) -> Result<(), String>;

    /// The time, once all calls on the proxy have ended: that of the clock, unless calls end behind their return, as those on devices do.
    fn now(_proxy: &mut Self::Proxy) -> Duration {
        Self::clock()
    }

    /// Whether all that was called before the last [`now`](Params::now) has ended well.
    ///
    /// # Errors
    /// That of a call which failed behind its return, as those on devices do.
    fn ended(_proxy: &mut Self::Proxy) -> Result<()> {
        Ok(())
    }

    /// How long a sample is at least: many times what [`now`](Params::now) takes.
    fn sample_time(_proxy: &Self::Proxy) -> Duration {
        SAMPLE_TIME
    }

    /// The time, whatever is under way: since the first time that somebody asked.
    fn clock() -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
