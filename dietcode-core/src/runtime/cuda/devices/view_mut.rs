//! A borrowed tensor on a device that is written.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;

use cudarc::driver::{self, DevicePtr, DeviceSlice};

use super::context::Context;
use super::device::Device;
use super::in_use::InUse;
use super::resident::Resident;
use super::tensor::CudaTensor;
use super::view::CudaView;
use crate::runtime::cuda::memory::Memory;
use crate::runtime::layout::{Layout, shaped};
use crate::runtime::{Arg, Element};
use crate::{Error, Result};

/// A tensor in device memory, borrowed for writing: row-major, with rows that need not be adjacent. Nothing is copied, and
/// what lies between the rows is left alone.
pub struct CudaViewMut<'a, T> {
    arg: Arg<'a>,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T: Element> CudaViewMut<'a, T> {
    /// The whole of a view of the driver as a tensor.
    ///
    /// # Errors
    /// If it does not have exactly as many elements as the shape.
    pub fn new(slice: driver::CudaViewMut<'a, T>, shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        layout.check_exact(slice.len())?;
        Ok(Self::of(Context::of(slice.stream().context())?, slice, layout))
    }

    /// A tensor whose rows lie `strides` elements apart.
    ///
    /// # Errors
    /// If the last stride is not 1, rows overlap, or the driver's view ends before the last element.
    pub fn with_strides(slice: driver::CudaViewMut<'a, T>, shape: &[usize], strides: &[usize]) -> Result<Self> {
        Self::with_layout(slice, Layout::strided(shape, strides)?)
    }

    pub(in crate::runtime) fn with_layout(slice: driver::CudaViewMut<'a, T>, layout: Layout) -> Result<Self> {
        layout.check_holds(slice.len())?;
        Ok(Self::of(Context::of(slice.stream().context())?, slice, layout))
    }

    /// Over memory that holds the layout.
    pub(super) fn of(context: &'static Context, mut slice: driver::CudaViewMut<'a, T>, layout: Layout) -> Self {
        let (address, _) = slice.device_ptr(slice.stream());
        let len = slice.num_bytes();
        // SAFETY: every element is made of bytes.
        let bytes = unsafe { slice.transmute_mut::<u8>(len) }.expect("it has as many bytes as it has");
        // SAFETY: only the lifetime changes. What it borrows for 'a is the driver's slice, exclusively, for `slice` is gone.
        let bytes = unsafe { std::mem::transmute::<driver::CudaViewMut<'_, u8>, driver::CudaViewMut<'a, u8>>(bytes) };
        let memory = Memory::Device(context, Resident::Write(bytes));
        Self::from_arg(Arg::new(T::DTYPE, address as usize as *mut c_void, layout, true, memory))
    }

    /// Over emulated memory.
    ///
    /// # Safety
    /// The layout's elements can be read and written there for `'a`, and are used through this view alone in that time.
    pub(super) unsafe fn emulated(context: &'static Context, data: *mut c_void, layout: Layout) -> Self {
        Self::from_arg(Arg::new(T::DTYPE, data, layout, true, Memory::Device(context, Resident::Emulated)))
    }

    fn from_arg(arg: Arg<'a>) -> Self {
        CudaViewMut { arg, elements: PhantomData }
    }

    /// The part of it whose index in dimension `dim` is in a range.
    ///
    /// # Errors
    /// If there is no such dimension, or the range leaves it.
    pub fn narrow(self, dim: usize, range: Range<usize>) -> Result<Self> {
        Ok(Self::from_arg(self.arg.narrow(dim, range)?))
    }

    /// The same view for a shorter time, so that it can be used again.
    pub fn reborrow(&mut self) -> CudaViewMut<'_, T> {
        CudaViewMut::from_arg(self.arg.reborrow())
    }

    /// The same tensor for reading.
    pub fn as_ref(&self) -> CudaView<'_, T> {
        CudaView::from_arg(self.arg.shared())
    }
}

impl<'a, T> CudaViewMut<'a, T> {
    /// The first element's address, for launches of a program's own on a device's stream: that waits for whoever uses the memory on another one,
    /// and others wait for it once what is returned is dropped, behind the launches.
    pub fn address_on<'s>(&'s mut self, device: &'s Device) -> (u64, InUse<'s>) {
        (self.arg.data().expose_provenance() as u64, InUse::on(device, self.arg.memory_mut()))
    }

    pub(in crate::runtime) fn into_arg(self) -> Arg<'a> {
        self.arg
    }
}

impl<'a, T: Element> From<&'a mut CudaTensor<T>> for CudaViewMut<'a, T> {
    fn from(tensor: &'a mut CudaTensor<T>) -> Self {
        tensor.view_mut()
    }
}

impl<'a, T: Element> TryFrom<Arg<'a>> for CudaViewMut<'a, T> {
    type Error = Error;

    /// The output, if its elements are of that type and on a device.
    fn try_from(arg: Arg<'a>) -> Result<Self> {
        arg.device_tensor::<T>(true).map(Self::from_arg)
    }
}

shaped!(CudaViewMut, arg);
