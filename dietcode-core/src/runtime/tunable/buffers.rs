//! Operands of a generated kernel for trials: in memory of their own, where the call's are, with their layout and alignment.

use std::ffi::c_void;

use super::kernels::{KernelCall, LINE, class_of};
use crate::Result;
use crate::runtime::aligned::AlignedBuffer;
use crate::runtime::arg::{Arg, Scalar};
#[cfg(feature = "cuda")]
use crate::runtime::cuda::devices::trial::TrialMemory;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::element::Rounded;
use crate::runtime::element::{DType, of_element};

/// Those of one call.
pub(super) struct Operands {
    /// Scalars, and views of the buffers.
    pub(super) args: Vec<Arg<'static>>,
    pub(super) buffers: Vec<Buffer>,
    /// Whether a call may have written to them since they were made or reset.
    pub(super) is_used: bool,
}

impl Operands {
    /// With the layouts of a call's, where those are.
    pub(super) fn like(call: &KernelCall<'_>) -> Result<Operands> {
        let (mut buffers, mut args) = (Vec::new(), Vec::new());
        for (seed, arg) in call.args().iter().enumerate() {
            if let Some(scalar) = arg.scalar() {
                args.push(stand_in(scalar));
                continue;
            }
            let mut buffer = Buffer::like(call, arg, seed)?;
            let (first, memory) = buffer.place();
            args.push(arg.elsewhere(first, memory));
            buffers.push(buffer);
        }
        Ok(Operands { args, buffers, is_used: false })
    }
}

/// A scalar of the same class for trials.
fn stand_in(scalar: Scalar) -> Arg<'static> {
    let value = match class_of(scalar.value()).0 {
        0 | 1 => scalar.value(),
        2 => -0.75,
        _ => 0.75,
    };
    match scalar {
        Scalar::F32(_) => Arg::from(value as f32),
        Scalar::F64(_) => Arg::from(value),
        Scalar::I32(_) => Arg::from(if value.fract() == 0.0 { value as i32 } else { value.signum() as i32 * 3 }),
    }
}

/// A tensor's elements, and what lies between its rows.
pub(super) struct Buffer {
    pub(super) dtype: DType,
    /// What calls use, or else a copy of it: what was written there last, or read from there.
    memory: AlignedBuffer<u8>,
    #[cfg(feature = "cuda")]
    on_device: Option<TrialMemory>,
    /// The first element's place.
    first: usize,
    /// Whether calls write it.
    pub(super) is_written: bool,
}

impl Buffer {
    /// Elements with the layout and the alignment of a call's, where those are.
    fn like(call: &KernelCall<'_>, arg: &Arg<'_>, seed: usize) -> Result<Buffer> {
        // What was laid out before the call holds what the nest computes in, whatever its elements were.
        let computes = call.kernel().signature.computes_in();
        let dtype = if arg.prepared_for().is_some() { computes } else { arg.dtype() };
        let first = arg.data().addr() % LINE;
        let bytes = first + arg.addresses().len();
        let mut buffer = Buffer {
            dtype,
            memory: AlignedBuffer::filled(bytes, 0)?,
            #[cfg(feature = "cuda")]
            on_device: call.device().map(|device| TrialMemory::new(&device, bytes)).transpose()?,
            first,
            is_written: arg.is_mutable(),
        };
        let mut state = seed as u64;
        for element in buffer.bytes_mut().chunks_exact_mut(dtype.bytes()) {
            // The constants are Knuth's, of MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = match dtype {
                DType::U8 => (state >> 56) as f64,
                DType::I8 => (state >> 57) as f64,
                DType::I32 => (state >> 52) as f64,
                _ => (128 + (state >> 57)) as f64 / 256.0,
            };
            of_element!(DType, dtype, T => element.copy_from_slice(&T::of(value).to_ne_bytes()));
        }
        buffer.send()?;
        Ok(buffer)
    }

    /// Makes all elements negative, or positive. The sign is the upper bit of the last byte.
    ///
    /// # Errors
    /// Those of the device, if it is on one.
    pub(super) fn set_sign(&mut self, negative: bool) -> Result<()> {
        let bytes = self.dtype.bytes();
        for element in self.bytes_mut().chunks_exact_mut(bytes) {
            let upper = if cfg!(target_endian = "little") { bytes - 1 } else { 0 };
            element[upper] = element[upper] & 0x7f | u8::from(negative) << 7;
        }
        self.send()
    }

    /// Has it hold these bytes.
    ///
    /// # Errors
    /// As above.
    pub(super) fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes_mut().copy_from_slice(bytes);
        self.send()
    }

    /// Writes it where calls find it.
    fn send(&mut self) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(on_device) = &mut self.on_device {
            return on_device.write(&self.memory);
        }
        Ok(())
    }

    /// Reads what calls have written.
    ///
    /// # Errors
    /// Those of the device, if it is on one: also of what was launched there before.
    pub(super) fn fetch(&mut self) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(on_device) = &self.on_device {
            return on_device.read(&mut self.memory);
        }
        Ok(())
    }

    /// Where calls find the first element. It is made of the allocation's own pointer, not of a slice, which the next slice would invalidate.
    fn place(&mut self) -> (*mut c_void, Memory<'static>) {
        #[cfg(feature = "cuda")]
        if let Some(on_device) = &mut self.on_device {
            let (start, memory) = on_device.place();
            return (start.wrapping_byte_add(self.first), memory);
        }
        (self.memory.as_mut_ptr().wrapping_add(self.first).cast(), Memory::HOST)
    }

    /// Of how many bytes it is.
    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.first..]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..]
    }

    /// The elements, and what lies between.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let dtype = self.dtype;
        let value = move |bytes: &[u8]| of_element!(DType, dtype, T => T::from_ne_bytes(bytes.try_into().expect("it is an element")).value());
        self.bytes().chunks_exact(dtype.bytes()).map(value)
    }
}
