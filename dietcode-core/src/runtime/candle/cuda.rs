//! Candle's memory on CUDA devices: that of the driver, by the same crate as ours.

use candle_core::CudaStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use cudarc::driver::CudaSlice;

use super::Storage;
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
        match &self.slice {
            CudaStorageSlice::F32(data) => arg(data, start, layout),
            CudaStorageSlice::F16(data) => arg(data, start, layout),
            CudaStorageSlice::BF16(data) => arg(data, start, layout),
            CudaStorageSlice::F64(data) => arg(data, start, layout),
            CudaStorageSlice::U8(data) => arg(data, start, layout),
            CudaStorageSlice::I32(data) => arg(data, start, layout),
            _ => Ok(None),
        }
    }

    fn output(&mut self, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
        fn arg<T: Element>(data: &mut CudaSlice<T>, start: usize, layout: Layout) -> Result<Option<Arg<'_>>> {
            let start = start.min(data.len());
            CudaViewMut::with_layout(data.slice_mut(start..), layout).map(|view| Some(view.into_arg()))
        }
        match &mut self.slice {
            CudaStorageSlice::F32(data) => arg(data, start, layout),
            CudaStorageSlice::F16(data) => arg(data, start, layout),
            CudaStorageSlice::BF16(data) => arg(data, start, layout),
            CudaStorageSlice::F64(data) => arg(data, start, layout),
            CudaStorageSlice::U8(data) => arg(data, start, layout),
            CudaStorageSlice::I32(data) => arg(data, start, layout),
            _ => Ok(None),
        }
    }
}
