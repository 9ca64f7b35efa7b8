//! Operations of generated kernels: the dispatcher, the selected micro-kernels, the nest, and what a program adds.

use std::ffi::CStr;
use std::ops::{Deref, DerefMut};
use std::ptr;
#[cfg(feature = "cuda")]
use std::time::Duration;

use super::buffers::{Buffer, Operands};
use super::key::Key;
use super::params::Params;
#[cfg(feature = "cuda")]
use super::params::SAMPLE_TIME;
use super::tunable_op::TunableOp;
use super::tuning;
use crate::runtime::aligned::ALIGNMENT;
use crate::runtime::arg::Arg;
#[cfg(feature = "cuda")]
use crate::runtime::cuda::{CudaMicroKernel, CudaTableSource, Device, devices};
use crate::runtime::element::DType;
use crate::runtime::kernel::{Kernel, TableSource};
use crate::runtime::set::Set;
use crate::runtime::signature::Shape;
use crate::runtime::threads;
use crate::{Error, Result, abi};

/// Calls of generated kernels.
///
/// **Key.** The nest's hash; the shape variables; of each tensor the type of its elements, whether its rows lie `dense`, `apart` by
/// multiples of 64 bytes (`apart64`) or `apart`, and the alignment of its first element up to 64 bytes; of each scalar whether it is 0, 1,
/// negative or another number; the number of threads, or, of tensors on a device, its compute capability, model, multiprocessors and the
/// CUDA version of the driver.
///
/// **Proxies** have the same layout, and addresses with the same remainder by 64. Their elements, also between rows, are numbers
/// (128 + k) / 256 with k from 0 to 127, which all element types hold; a scalar that is neither 0 nor 1 is 0.75 with
/// its sign. They are where the call's are, and what happens on a device is in the order of the call's stream. Candidates are checked
/// on them, and once more with the signs of the first input turned: a maximum with 0 that is left out changes nothing of what is
/// positive. The caller's data is neither read nor written.
///
/// **Bound.** Results, also between the rows of the output, may differ by 2 · (γₙ + u) · s, where s is the largest magnitude that the
/// default has computed, u the unit roundoff of the output's elements if they have 16 bits and else 0, and γₙ = n·v / (1 − n·v) with
/// v = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). Each term of a sum passes at most one rounding for each
/// iteration of the reduced loops, and n is their number and 32, which what stands in a term and behind the sum may take. Since
/// the elements of a tensor share a sign, so do the terms of a sum of products, and both results are that close to the exact one. Of
/// a nest that subtracts the bound is an estimate: what it refuses is left out, and the default runs. Where the default's results are
/// not finite, which nothing can be compared with, nothing is tried.
pub enum Kernels {}

/// A call of a kernel, everything about which has been checked.
pub struct KernelCall<'a> {
    kernel: &'static Kernel,
    args: &'a mut [Arg<'a>],
    shape: Shape,
    /// Whether there is something to compute.
    is_tuned: bool,
    /// Whether a candidate was asked for by its name, however long it takes.
    is_asked: bool,
}

/// The most iterations for which the nest itself, as plain Rust, is a candidate: about a millisecond.
const MOST_OF_NEST: f64 = (1 << 20) as f64;

/// What stands in a term and behind a sum takes at most so many roundings.
pub(crate) const OTHER_ROUNDINGS: u32 = 32;

/// Sums of more terms than this are not compared: γₙ would be more than an eighth.
const MOST_ROUNDINGS: f64 = (1 << 24) as f64 / 9.0;

impl<'a> KernelCall<'a> {
    pub(super) fn new<'b: 'a>(kernel: &'static Kernel, args: &'a mut [Arg<'b>]) -> Result<KernelCall<'a>> {
        let shape = kernel.bind(args)?;
        Ok(KernelCall::bound(kernel, args, shape))
    }

    /// The same of arguments that have been checked.
    fn bound<'b: 'a>(kernel: &'static Kernel, args: &'a mut [Arg<'b>], shape: Shape) -> KernelCall<'a> {
        let is_tuned = !kernel.signature.is_empty(&shape);
        // SAFETY: only the lifetime of the arguments is shortened, and nobody puts others in their places.
        let args = unsafe { std::mem::transmute::<&'a mut [Arg<'b>], &'a mut [Arg<'a>]>(args) };
        KernelCall { kernel, args, shape, is_tuned, is_asked: false }
    }

    /// The kernel that is called.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The values of the shape variables in declaration order.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The arguments in declaration order. One that was laid out before the call is read by the kernel's own code only; what each other is,
    /// the kernel's signature says: `TensorRef::<f32>::try_from(x)?`, `TensorMut` of the output, `f32` of a scalar.
    ///
    /// # Errors
    /// If there are not `N`.
    pub fn operands<const N: usize>(&mut self) -> Result<[Arg<'_>; N]> {
        if self.args.len() != N {
            let (name, len) = (self.kernel.name(), self.args.len());
            return Err(Error::input(format!("{name}: a call has {len} arguments, not {N}")));
        }
        let mut args = self.args.iter_mut();
        Ok(std::array::from_fn(|_| args.next().expect("there are N").reborrow()))
    }

    pub(super) fn args(&self) -> &[Arg<'a>] {
        self.args
    }

    /// The device that the tensors are on, with the stream on which the call is launched; none in host memory. A candidate of a program's own
    /// computes in the order of that stream.
    #[cfg(feature = "cuda")]
    pub fn device(&self) -> Option<Device> {
        devices::trial::device_of(self.args)
    }

    fn is_on_host(&self) -> bool {
        self.args.iter().all(|arg| arg.memory().is_host())
    }

    /// Has a micro-kernel of `kernel` for devices carry it out.
    #[cfg(feature = "cuda")]
    fn launch(&mut self, kernel: &'static Kernel, micro_kernel: &'static CudaMicroKernel) -> Result<()> {
        let device = self
            .device()
            .filter(|device| self.is_tuned && ptr::eq(self.kernel, kernel) && device.has_code(micro_kernel));
        let Some(device) = device else {
            let sentence = format!("{}: it is a micro-kernel for its calls on other devices", kernel.name());
            return Err(Error::unsupported(sentence));
        };
        // SAFETY: `bind` has checked that all the micro-kernel reads and writes is inside the tensors, that they are on this device and that
        // the output is apart from the inputs; the micro-kernel is one of this nest.
        unsafe { devices::call::run(kernel.name(), micro_kernel, &device, &self.shape, self.args) }
    }

    /// Has a micro-kernel of `kernel` carry it out.
    fn run(&mut self, kernel: &'static Kernel, micro_kernel: &'static abi::MicroKernel) -> Result<()> {
        if !self.is_tuned || !self.is_on_host() || !ptr::eq(self.kernel, kernel) {
            return Err(Error::unsupported(format!(
                "{}: it is a micro-kernel for its calls in host memory",
                kernel.name()
            )));
        }
        kernel.run_on_host(micro_kernel, self.args, &self.shape)
    }

    fn iterations(&self, counted: fn(bool) -> bool) -> f64 {
        let loops = self.kernel.signature.loops.iter().filter(|l| counted(l.reduce));
        loops.map(|l| l.extent.at(&self.shape).unwrap_or(i64::MAX) as f64).product()
    }
}

/// A generated kernel as an operation: `dense::tunable()` makes one, and `dense::tuned(&op, …)` calls it.
///
/// Its default is the kernel's dispatcher, `<dispatcher>`. The others are the micro-kernels that were selected, by their names, and the
/// nest as plain Rust, `<nest>`, which takes calls of at most 2²⁰ iterations, and none whose operands are prepared. Calls with nothing to
/// compute are the default's.
///
/// That is so in host memory. Calls with tensors on CUDA devices are those of an operation of their own, `KernelOp::devices`, with the
/// micro-kernels for devices: neither has candidates that the other could call.
pub struct KernelOp {
    pub(super) kernel: &'static Kernel,
    op: TunableOp<Kernels>,
    #[cfg(feature = "cuda")]
    devices: TunableOp<Kernels>,
}

impl KernelOp {
    /// The operation of a kernel, whose nest is `nest`.
    pub fn new(kernel: &'static Kernel, nest: fn(&mut KernelCall<'_>) -> Result<()>) -> KernelOp {
        let op = |name: &str| {
            TunableOp::new(name, "<dispatcher>", |call: &mut KernelCall<'_>| {
                call.kernel.call_bound(call.args, &call.shape)
            })
        };
        let mut op = KernelOp {
            kernel,
            op: op(kernel.name()),
            #[cfg(feature = "cuda")]
            devices: op(&format!("{} on devices", kernel.name())),
        };
        if let TableSource::Linked(table) = kernel.table {
            for micro_kernel in table.as_slice() {
                let registered = op.register_micro_kernel(&name_of(micro_kernel), micro_kernel);
                registered.expect("rows of a table have names of their own");
            }
        }
        #[cfg(feature = "cuda")]
        if let CudaTableSource::Linked(table) = kernel.cuda {
            for micro_kernel in table.micro_kernels {
                let registered = op.register_cuda(micro_kernel.name, micro_kernel);
                registered.expect("rows of a table have names of their own");
            }
        }
        let nest = move |call: &mut KernelCall<'_>| {
            if !call.is_tuned || !call.is_asked && call.iterations(|_| true) > MOST_OF_NEST {
                return Err(Error::unsupported("the nest is tried where it takes about a millisecond, in host memory"));
            }
            nest(call)
        };
        op.register("<nest>", nest).expect("no row has that name, which is no name in C");
        op
    }

    /// The operation of calls with tensors on CUDA devices, `name on devices` in files of results.
    #[cfg(feature = "cuda")]
    pub fn devices(&self) -> &TunableOp<Kernels> {
        &self.devices
    }

    /// The same, for candidates of a program's own, which compute on the [device](KernelCall::device) of a call, and for validators.
    #[cfg(feature = "cuda")]
    pub fn devices_mut(&mut self) -> &mut TunableOp<Kernels> {
        &mut self.devices
    }

    /// Adds the configurations of a set that serve this kernel, in host memory or on devices, each as `set's file/configuration`. How many
    /// there are.
    ///
    /// # Errors
    /// If the set was registered before.
    pub fn register_all(&mut self, set: &'static Set) -> Result<usize> {
        let mut registered = 0;
        for configuration in set.configurations {
            let entry = configuration.entry(self.kernel.name());
            let entry = entry.filter(|entry| entry.source_hash == self.kernel.source_hash());
            let name = format!("{}/{}", set.config, configuration.name);
            let mut is_registered = false;
            if let Some(micro_kernel) = entry.and_then(|entry| entry.cpu_micro_kernel()) {
                self.register_micro_kernel(&name, micro_kernel)?;
                is_registered = true;
            }
            #[cfg(feature = "cuda")]
            if let Some(micro_kernel) = entry.and_then(|entry| entry.cuda) {
                self.register_cuda(&name, micro_kernel)?;
                is_registered = true;
            }
            registered += usize::from(is_registered);
        }
        Ok(registered)
    }

    #[cfg(feature = "cuda")]
    fn register_cuda(&mut self, name: &str, micro_kernel: &'static CudaMicroKernel) -> Result<()> {
        let kernel = self.kernel;
        self.devices.register(name, move |call: &mut KernelCall<'_>| call.launch(kernel, micro_kernel))
    }

    fn register_micro_kernel(&mut self, name: &str, micro_kernel: &'static abi::MicroKernel) -> Result<()> {
        let kernel = self.kernel;
        self.op.register(name, move |call: &mut KernelCall<'_>| call.run(kernel, micro_kernel))
    }

    /// Computes the output, by the candidate that is chosen.
    ///
    /// # Errors
    /// Those of [`Kernel::call`] and [`TunableOp::call`].
    pub fn call_args(&self, args: &mut [Arg<'_>]) -> Result<()> {
        let mut call = KernelCall::new(self.kernel, args)?;
        #[cfg(feature = "cuda")]
        if !call.is_on_host() {
            return self.devices.call(&mut call);
        }
        self.op.call(&mut call)
    }

    /// Computes the output by one candidate, of its position among [`candidates`](TunableOp::candidates), whatever is known of the call.
    /// The nest takes any number of iterations then.
    ///
    /// # Errors
    /// Those of [`Kernel::bind`] and of the candidate; [`crate::ErrorKind::Input`] if there is none at that position.
    pub fn call_candidate(&self, at: usize, args: &mut [Arg<'_>]) -> Result<()> {
        let candidate = self.op.candidates.get(at).ok_or_else(|| {
            let len = self.op.candidates.len();
            Error::input(format!("{}: found the candidate {at}, expected 0 to {}", self.name(), len - 1))
        })?;
        let mut call = KernelCall::new(self.kernel, args)?;
        if self.kernel.signature.is_empty(&call.shape) {
            return Ok(());
        }
        call.is_asked = true;
        candidate.call(&mut call)
    }
}

impl Deref for KernelOp {
    type Target = TunableOp<Kernels>;

    fn deref(&self) -> &TunableOp<Kernels> {
        &self.op
    }
}

impl DerefMut for KernelOp {
    fn deref_mut(&mut self) -> &mut TunableOp<Kernels> {
        &mut self.op
    }
}

fn name_of(micro_kernel: &abi::MicroKernel) -> String {
    // SAFETY: the C compiler has made it, a string that ends.
    unsafe { CStr::from_ptr(micro_kernel.name) }.to_string_lossy().into_owned()
}

impl Params for Kernels {
    type Call<'a> = KernelCall<'a>;
    type Proxy = KernelProxy;
    type Output = Vec<f64>;

    fn key(call: &KernelCall<'_>, key: &mut Key) -> Result<()> {
        let signature = &call.kernel.signature;
        key.add_as("nest", signature.source_hash, |text| *text += &format!("{:016x}", signature.source_hash));
        for (var, value) in signature.shape_vars.iter().zip(&*call.shape) {
            key.add(var.name, value.unsigned_abs());
        }
        for (param, arg) in signature.params.iter().zip(&*call.args) {
            match arg.scalar() {
                None => Tensor::of(arg).add_to(param.name, key),
                Some(scalar) => {
                    let (class, shown) = class_of(scalar.value());
                    key.add_as(param.name, class, |text| *text += shown);
                }
            }
        }
        #[cfg(feature = "cuda")]
        if let Some(context) = devices::trial::context_of(call.args) {
            let (number, text) = context.kind();
            key.add_as("device", *number, |shown| *shown += text);
            return Ok(());
        }
        key.add("threads", threads()? as u64);
        Ok(())
    }

    fn is_tuned(call: &KernelCall<'_>) -> bool {
        call.is_tuned
    }

    /// On a device not while the stream records a graph: what is launched then does not run.
    #[cfg(feature = "cuda")]
    fn can_be_tried(call: &KernelCall<'_>) -> bool {
        !call.device().is_some_and(|device| device.is_capturing())
    }

    /// The proxy's stream, of whose state the call says nothing if it has another.
    #[cfg(feature = "cuda")]
    fn is_of(proxy: &KernelProxy, call: &KernelCall<'_>) -> bool {
        match (&proxy.device, call.device()) {
            (Some(own), Some(device)) => own.is_same_stream(&device),
            (own, device) => own.is_none() && device.is_none(),
        }
    }

    fn pre_tuning(call: &KernelCall<'_>) -> Result<KernelProxy> {
        let roundings = call.iterations(|reduce| reduce) + f64::from(OTHER_ROUNDINGS);
        if roundings > MOST_ROUNDINGS {
            let message = format!("results of {roundings} roundings cannot be compared, of at most {MOST_ROUNDINGS}");
            return Err(Error::unavailable(message));
        }
        let mut sets = vec![Operands::like(call)?];
        let output = sets[0].buffers.iter().position(|buffer| buffer.is_written);
        let output = output.ok_or_else(|| Error::failed("a kernel writes nothing"))?;
        let initial = sets[0].buffers[output].bytes().to_vec();
        let bytes: u64 = sets[0].buffers.iter().map(|buffer| buffer.len().next_multiple_of(ALIGNMENT) as u64).sum();
        for _ in 1..tuning::rotation()?.div_ceil(bytes) {
            sets.push(Operands::like(call)?);
        }
        Ok(KernelProxy {
            kernel: call.kernel,
            shape: call.shape,
            sets,
            current: 0,
            output,
            initial,
            roundings,
            failure: None,
            #[cfg(feature = "cuda")]
            device: call.device(),
        })
    }

    const VARIANTS: usize = 2;

    /// As they were made, and with the first input's signs turned, which all terms of a sum of products then share again.
    fn vary(proxy: &mut KernelProxy, variant: usize) {
        proxy.failure = None;
        // What is timed takes as long with either sign.
        let buffers = &mut proxy.sets[proxy.current].buffers;
        let input = buffers.iter_mut().find(|buffer| !buffer.is_written);
        let turned = input.map_or(Ok(()), |input| input.set_sign(variant == 1));
        proxy.note(turned);
    }

    /// Of sets that calls have written, so that the others stay where they are.
    fn reset(proxy: &mut KernelProxy) {
        let KernelProxy { sets, output, initial, .. } = proxy;
        let restored = sets.iter_mut().filter(|set| set.is_used).try_for_each(|set| {
            set.buffers[*output].restore(initial)?;
            set.is_used = false;
            Ok(())
        });
        proxy.note(restored);
    }

    fn rotate(proxy: &mut KernelProxy) {
        proxy.current = (proxy.current + 1) % proxy.sets.len();
    }

    fn call(proxy: &mut KernelProxy) -> KernelCall<'_> {
        let set = &mut proxy.sets[proxy.current];
        set.is_used = true;
        KernelCall::bound(proxy.kernel, &mut set.args, proxy.shape)
    }

    fn output(proxy: &mut KernelProxy) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        let output = proxy.written()?;
        let too_large = |e| Error::unavailable("there is no memory for a copy of the output").caused_by(e);
        values.try_reserve_exact(output.bytes().len() / output.dtype.bytes()).map_err(too_large)?;
        values.extend(output.values());
        if values.iter().any(|value: &f64| !value.is_finite()) {
            return Err(Error::unavailable(
                "the default's results are not finite, and nothing can be compared with them",
            ));
        }
        Ok(values)
    }

    fn compare(proxy: &mut KernelProxy, expected: &Vec<f64>) -> Result<(), String> {
        let computes = proxy.kernel.signature.computes_in();
        let roundings = proxy.roundings;
        let output = proxy.written().map_err(|error| error.to_string())?;
        let finite = expected.iter().map(|value| value.abs()).filter(|value| value.is_finite());
        let largest = finite.fold(0.0, f64::max);
        let epsilon = if computes == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() };
        let n = roundings * epsilon / 2.0;
        let stored = match output.dtype {
            same if same == computes => 0.0,
            DType::F64 | DType::U8 | DType::I8 | DType::I32 => 0.0,
            DType::F32 => 1.0 / (1 << 24) as f64,
            DType::F16 => 1.0 / (1 << 11) as f64,
            DType::BF16 => 1.0 / (1 << 8) as f64,
        };
        let bound = match output.dtype.is_integer() {
            true => 0.0,
            false => 2.0 * (n / (1.0 - n) + stored) * largest + f64::from(f32::MIN_POSITIVE),
        };
        for (at, (found, expected)) in output.values().zip(expected).enumerate() {
            let is_same = found == *expected || found.is_nan() && expected.is_nan();
            let is_within = is_same || (found - *expected).abs() <= bound;
            if !is_within {
                return Err(format!(
                    "the element {at} places behind the first is {found}, the default computes {expected}; they may differ by {bound:.1e}"
                ));
            }
        }
        Ok(())
    }

    fn ended(proxy: &mut KernelProxy) -> Result<()> {
        proxy.failure.take().map_or(Ok(()), Err)
    }

    /// On a device once all that was launched has ended.
    #[cfg(feature = "cuda")]
    fn now(proxy: &mut KernelProxy) -> Duration {
        let ended = proxy.device.as_ref().map_or(Ok(()), Device::synchronize);
        proxy.note(ended);
        Kernels::clock()
    }

    /// On a device, which is waited for before each reading of the clock, many times the 10 or 20 µs that this takes.
    #[cfg(feature = "cuda")]
    fn sample_time(proxy: &KernelProxy) -> Duration {
        if proxy.device.is_some() { Duration::from_millis(1) } else { SAMPLE_TIME }
    }
}

/// Operands for trials of a kernel, in memory of their own.
pub struct KernelProxy {
    kernel: &'static Kernel,
    shape: Shape,
    /// All hold the same but for signs; there are several where timed calls are rotated.
    sets: Vec<Operands>,
    /// That of the last call and, until it is rotated, of the next one.
    current: usize,
    /// Which buffer is written, and what it holds at first.
    output: usize,
    initial: Vec<u8>,
    roundings: f64,
    /// Why operands could not be made ready, if that is so.
    failure: Option<Error>,
    #[cfg(feature = "cuda")]
    device: Option<Device>,
}

impl KernelProxy {
    /// What the last call has written.
    fn written(&mut self) -> Result<&Buffer> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let buffer = &mut self.sets[self.current].buffers[self.output];
        buffer.fetch()?;
        Ok(buffer)
    }

    /// Keeps an error until somebody asks what was computed.
    fn note(&mut self, done: Result<()>) {
        self.failure = self.failure.take().or(done.err());
    }
}

/// What a key has of a tensor.
struct Tensor {
    dtype: DType,
    /// 0: dense; 1: rows apart, by multiples of [`LINE`]; 2: rows apart.
    strides: u64,
    /// The binary logarithm of the alignment, at most that of [`LINE`].
    alignment: u32,
}

/// A cache line, and the longest vector.
pub(super) const LINE: usize = 64;

impl Tensor {
    #[inline]
    fn of(arg: &Arg<'_>) -> Tensor {
        let strides = match arg.is_dense() {
            true => 0,
            false => {
                let outer = arg.strides().split_last().map_or(&[][..], |(_, outer)| outer);
                if outer.iter().all(|stride| (stride * arg.dtype().bytes()).is_multiple_of(LINE)) { 1 } else { 2 }
            }
        };
        let alignment = (arg.data().addr() | LINE).trailing_zeros();
        Tensor { dtype: arg.dtype(), strides, alignment }
    }

    #[inline]
    fn add_to(&self, name: &str, key: &mut Key) {
        let Tensor { dtype, strides, alignment } = *self;
        let number = (dtype as u64) << 16 | strides << 8 | u64::from(alignment);
        key.add_as(name, number, |text| {
            let strides = ["dense", "apart64", "apart"][strides as usize];
            *text += &format!("{dtype}/{strides}/{}", 1 << alignment);
        });
    }
}

/// What a key has of a scalar: a nest may leave out what is multiplied by 0, a candidate a product by 1, and what a maximum is taken of
/// depends on the sign.
pub(super) fn class_of(scalar: f64) -> (u64, &'static str) {
    match scalar {
        0.0 => (0, "0"),
        1.0 => (1, "1"),
        _ if scalar < 0.0 => (2, "negative"),
        _ => (3, "other"),
    }
}
