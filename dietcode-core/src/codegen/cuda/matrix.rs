//! Matrix instructions as CUDA C++. How fragments lie in registers and in shared memory stands at the functions of
//! `dietcode.cuh` that are called here.

use super::statements::Printer;
use crate::codegen::c_like::element_type;
use crate::ir::{Buffer, Expr, Intrinsic, Operand};

impl Printer {
    pub(super) fn load_matrix(&mut self, load: &Intrinsic) {
        let Intrinsic::LoadMatrix { to, to_index, from, from_index, operand, reduce_stride, spatial_stride, fragments } =
            load
        else {
            return;
        };
        let function = match (operand, fragments) {
            (Operand::A, _) => "dietcode_load_a",
            (Operand::B, 1) => "dietcode_load_b",
            (Operand::B, _) => "dietcode_load_b_pair",
        };
        // As it lies: whether rows of shared memory run along the summed loop, and how far they are apart.
        let (turned, stride) = if *reduce_stride == 1 { ("false", spatial_stride) } else { ("true", reduce_stride) };
        let (to, corner) = (self.registers(to, to_index), self.addresses.element(from, from_index));
        self.line(format_args!("{function}<{turned}>({to}, &{corner}, {stride}, dietcode_warp_lane);"));
    }

    pub(super) fn mma(&mut self, mma: &Intrinsic) {
        let Intrinsic::Mma { to, to_index, a, a_index, b, b_index } = mma else { return };
        let [d, a_text, b_text] =
            [(to, to_index), (a, a_index), (b, b_index)].map(|(buffer, index)| self.registers(buffer, index));
        let element = element_type(a.dtype);
        self.line(format_args!("dietcode_mma({d}, {a_text}, {b_text}, {element}{{}});"));
    }

    /// The first of a thread's registers that an operand takes.
    fn registers(&self, buffer: &Buffer, index: &[Expr]) -> String {
        match self.addresses.offset(buffer, index) {
            Expr::Int(0) => buffer.name.to_string(),
            offset => format!("{} + {}", buffer.name, self.addresses.operand(&offset)),
        }
    }
}
