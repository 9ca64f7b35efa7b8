//! A tensor that owns its elements, on a device.

use std::fmt;

use cudarc::driver::CudaSlice;

use super::buffer::Buffer;
use super::device::Device;
use super::view::CudaView;
use super::view_mut::CudaViewMut;
use crate::runtime::layout::Layout;
use crate::runtime::{Element, Tensor, TensorRef};
use crate::{Error, Result};

/// A dense row-major tensor in device memory of its own.
///
/// ```
/// # use dietcode_core::runtime::cuda::{CudaTensor, Device};
/// let x = CudaTensor::full(&Device::cuda_host(), &[2, 2], 0.5_f32)?;
/// assert_eq!(x.download()?.as_slice(), [0.5; 4]);
/// # Ok::<(), dietcode_core::Error>(())
/// ```
pub struct CudaTensor<T> {
    buffer: Buffer<T>,
    device: Device,
    layout: Layout,
}

impl<T: Element> CudaTensor<T> {
    /// Elements of any value: on the emulated device NaNs, on others what was there.
    ///
    /// # Errors
    /// If the shape has too many dimensions, or [`Unavailable`](crate::ErrorKind::Unavailable) if there is not enough
    /// device memory; the device can be used as before.
    pub fn uninitialised(device: &Device, shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        Ok(CudaTensor { buffer: Buffer::new(device, layout.len())?, device: device.clone(), layout })
    }

    /// All elements the same.
    ///
    /// # Errors
    /// As for [`CudaTensor::uninitialised`].
    pub fn full(device: &Device, shape: &[usize], value: T) -> Result<Self> {
        // The device goes first: it says at once whether so much fits.
        let mut tensor = CudaTensor::uninitialised(device, shape)?;
        tensor.buffer.write(device, Tensor::full(shape, value)?.as_slice())?;
        Ok(tensor)
    }

    /// All elements zero.
    ///
    /// # Errors
    /// As for [`CudaTensor::uninitialised`].
    pub fn zeros(device: &Device, shape: &[usize]) -> Result<Self> {
        CudaTensor::full(device, shape, T::default())
    }

    /// A copy of a tensor in host memory; one with strides becomes dense.
    ///
    /// # Errors
    /// As for [`CudaTensor::uninitialised`].
    pub fn upload<'a>(device: &Device, tensor: impl Into<TensorRef<'a, T>>) -> Result<Self> {
        let tensor = tensor.into();
        let mut copy = CudaTensor::uninitialised(device, tensor.shape())?;
        match tensor.as_slice() {
            Some(elements) => copy.buffer.write(device, elements)?,
            None => copy.buffer.write(device, tensor.to_tensor()?.as_slice())?,
        }
        Ok(copy)
    }

    /// A copy in host memory, once all that was launched before on the tensor's stream is done.
    ///
    /// # Errors
    /// [`Failed`](crate::ErrorKind::Failed) if a kernel has failed since, or if there is not enough host memory.
    pub fn download(&self) -> Result<Tensor<T>> {
        let mut copy = Tensor::zeros(self.shape())?;
        self.buffer.read(&self.device, copy.as_mut_slice())?;
        Ok(copy)
    }

    /// Replaces all elements by these, row-major.
    ///
    /// # Errors
    /// If there are more or fewer of them than the tensor has.
    pub fn write(&mut self, elements: &[T]) -> Result<()> {
        self.layout.check_exact(elements.len())?;
        self.buffer.write(&self.device, elements)
    }

    /// A tensor inside of this one's memory: it begins at an element, and its rows lie `strides` elements apart.
    ///
    /// # Errors
    /// As [`CudaView::with_strides`].
    pub fn window(&self, start: usize, shape: &[usize], strides: &[usize]) -> Result<CudaView<'_, T>> {
        Ok(self.part(start, self.layout_within(start, shape, strides)?))
    }

    /// As [`window`](Self::window), for writing.
    ///
    /// # Errors
    /// As [`CudaView::with_strides`].
    pub fn window_mut(&mut self, start: usize, shape: &[usize], strides: &[usize]) -> Result<CudaViewMut<'_, T>> {
        let layout = self.layout_within(start, shape, strides)?;
        Ok(self.part_mut(start, layout))
    }

    fn layout_within(&self, start: usize, shape: &[usize], strides: &[usize]) -> Result<Layout> {
        let layout = Layout::strided(shape, strides)?;
        let len = self.layout.len();
        let rest = len.checked_sub(start).ok_or_else(|| {
            Error::input(format!("a window begins at element {start}, but the tensor has {len} elements"))
        })?;
        layout.check_holds(rest)?;
        Ok(layout)
    }

    /// Takes over memory of the driver.
    ///
    /// # Errors
    /// If it does not have exactly as many elements as the shape.
    pub fn from_slice(slice: CudaSlice<T>, shape: &[usize]) -> Result<Self> {
        let layout = Layout::row_major(shape)?;
        layout.check_exact(slice.len())?;
        let device = Device::from_stream(slice.stream().clone())?;
        Ok(CudaTensor { buffer: Buffer::Device(slice), device, layout })
    }

    /// Gives the memory to the caller; that of an empty tensor is one element, for the driver allocates no less.
    ///
    /// # Errors
    /// If the tensor is on the emulated device; then there is no memory of the driver.
    pub fn into_slice(self) -> Result<CudaSlice<T>> {
        match self.buffer {
            Buffer::Device(slice) => Ok(slice),
            Buffer::Emulated(_) => Err(Error::input("a tensor on cuda-host has no memory of the driver")),
        }
    }

    /// Borrows it for reading.
    pub fn view(&self) -> CudaView<'_, T> {
        self.part(0, self.layout)
    }

    /// Borrows it for writing.
    pub fn view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.part_mut(0, self.layout)
    }

    /// What lies in this layout from an element on, all of it inside of the memory.
    fn part(&self, start: usize, layout: Layout) -> CudaView<'_, T> {
        match &self.buffer {
            Buffer::Device(slice) => CudaView::of(self.device.context, &slice.slice(start..), layout),
            Buffer::Emulated(buffer) => {
                let data = buffer.as_ptr().wrapping_byte_add(start * size_of::<T>());
                // SAFETY: the memory is borrowed as long as the view, and the layout lies in it.
                unsafe { CudaView::emulated(self.device.context, data, layout) }
            }
        }
    }

    /// As [`part`](Self::part), for writing.
    fn part_mut(&mut self, start: usize, layout: Layout) -> CudaViewMut<'_, T> {
        match &mut self.buffer {
            Buffer::Device(slice) => CudaViewMut::of(self.device.context, slice.slice_mut(start..), layout),
            Buffer::Emulated(buffer) => {
                let data = buffer.as_mut_ptr().wrapping_byte_add(start * size_of::<T>());
                // SAFETY: the memory is borrowed, exclusively, as long as the view, and the layout lies in it.
                unsafe { CudaViewMut::emulated(self.device.context, data, layout) }
            }
        }
    }
}

impl<T> CudaTensor<T> {
    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The device that it lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl<T> fmt::Debug for CudaTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaTensor {{ shape: {:?}, on {} }}", self.shape(), self.device.context)
    }
}
