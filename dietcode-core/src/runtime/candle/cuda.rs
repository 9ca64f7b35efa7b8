//! Candle's memory on CUDA devices: that of the driver, by the same crate as ours.

use candle_core::CudaStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use cudarc::driver::CudaSlice;

use super::{Storage, stored};
use crate::Result;
use crate::runtime::arg::Arg;
use crate::runtime::cuda::{CudaView, CudaViewMut};
use crate::runtime::element::Element;
use crate::runtime::layout::Layout;

impl Storage for CudaStorage {
    fn input(&self, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
        fn arg<T: Element>(data: &CudaSlice<T>, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
            CudaView::with_layout(&data.slice(start.min(data.len())..), layout).map(|view| Some(view.into_arg()))
        }
        stored!(CudaStorageSlice, &self.slice, data => arg(data, start, layout))
    }

    fn output(&mut self, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
        fn arg<T: Element>(data: &mut CudaSlice<T>, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
            let start = start.min(data.len());
            CudaViewMut::with_layout(data.slice_mut(start..), layout).map(|view| Some(view.into_arg()))
        }
        stored!(CudaStorageSlice, &mut self.slice, data => arg(data, start, layout))
    }
}
