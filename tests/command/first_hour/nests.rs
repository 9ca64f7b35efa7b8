//! A program that calls kernels at shapes, made from their signatures, and what it must print.

use std::collections::BTreeMap;
use std::fmt::Write;

use dietcode::core::frontend;
use dietcode::core::ir::Name;
use dietcode::core::reference::{self, Approx, Tensors, comparable};
use dietcode::core::syntax::{Affine, DType, KernelDef, Param};
use dietcode::core::{bf16, f16};

use super::numbers::number;

/// Values of shape variables, in their order: the least, odd ones, and more than a vector holds.
const SHAPES: [[i64; 6]; 3] = [[1; 6], [5, 3, 7, 2, 6, 4], [19, 37, 23, 3, 2, 4]];

/// Of a scalar parameter at these shapes; where it is 0, a sum may be left out.
const SCALARS: [f32; 3] = [0.0, 0.75, -1.5];

/// A kernel at a shape.
pub(crate) struct Case<'a> {
    def: &'a KernelDef,
    shape: BTreeMap<Name, i64>,
    scalar: f32,
}

pub(crate) fn cases(defs: &[KernelDef]) -> Vec<Case<'_>> {
    let case = |def, (values, scalar): (&[i64; 6], f32)| {
        let vars = KernelDef::clone(def).shape_vars.into_iter().map(|var| Name::from(&*var.name));
        Case { def, shape: vars.zip(values.iter().copied().cycle()).collect(), scalar }
    };
    defs.iter().flat_map(|def| SHAPES.iter().zip(SCALARS).map(move |of| case(def, of))).collect()
}

/// The program: a line for each case and side, the bits of the output's elements.
pub(crate) fn program(cases: &[Case<'_>]) -> String {
    let mut calls = String::new();
    for case in cases {
        case.write(&mut calls);
    }
    format!(
        "mod numbers;\nmod ops;\nuse dietcode_core::runtime::{{Element, Tensor}};\nuse dietcode_core::{{Error, bf16, f16}};\nuse numbers::number;\n\n\
         fn show<T: Copy>(y: &[T]) where f64: From<T> {{\n    \
         let bits: Vec<String> = y.iter().map(|y| f64::from(*y).to_bits().to_string()).collect();\n    \
         println!(\"= {{}}\", bits.join(\" \"));\n}}\n\nfn main() -> Result<(), Error> {{\n{calls}    Ok(())\n}}\n"
    )
}

impl Case<'_> {
    fn write(&self, text: &mut String) {
        let def = self.def;
        let of = |(at, param): (usize, &Param)| {
            let dims: Vec<String> = self.dims(param).iter().map(i64::to_string).collect();
            let element = match param.dtype {
                DType::F32 => "".to_owned(),
                DType::F64 => "f64::from".to_owned(),
                integer if integer.is_integer() => format!("(|number: f32| (128.0 * number) as {integer})"),
                half => format!("{}::from_f32", half.name()),
            };
            let value = format!(
                "Tensor::from_fn(&[{}], |at| {element}({}))?",
                dims.join(", "),
                format_args!("number(at, {at})")
            );
            match param.is_scalar() {
                true if param.dtype == DType::I32 => format!("        let {} = {}i32;\n", param.name, self.integer()),
                true => format!("        let {} = {:?}{};\n", param.name, self.scalar, param.dtype),
                false => format!("        let {}{} = {value};\n", if param.mutable { "mut " } else { "" }, param.name),
            }
        };
        text.push_str("    for reference in [false, true] {\n");
        text.extend(def.params.iter().enumerate().map(of));
        let arguments = def.params.iter().map(|param| match (param.is_scalar(), param.mutable) {
            (true, _) => param.name.clone(),
            (false, true) => format!("&mut {}", param.name),
            (false, false) => format!("&{}", param.name),
        });
        let (name, arguments) = (&def.name, arguments.collect::<Vec<_>>().join(", "));
        let output = &def.params[def.output].name;
        let call = format!(
            "        if reference {{ ops::{name}::reference({arguments})?; }} else {{ ops::{name}({arguments})?; }}\n"
        );
        writeln!(text, "{call}        show({output}.as_slice());\n    }}").unwrap();
    }

    /// Of a scalar parameter that is an integer.
    fn integer(&self) -> i32 {
        (4.0 * self.scalar) as i32
    }

    fn dims(&self, param: &Param) -> Vec<i64> {
        param.dims.iter().map(|extent| self.value(extent)).collect()
    }

    fn value(&self, extent: &Affine) -> i64 {
        extent.terms.iter().fold(extent.constant, |sum, (var, times)| sum + times * self.shape[&**var])
    }

    /// Whether both sides are within the bound of what the oracle says.
    pub(crate) fn check(&self, kernel: &str, nest: &str) {
        let expected = self.expected();
        for (side, line) in [("kernel", kernel), ("nest", nest)] {
            let bits: Vec<u64> = line.split(' ').skip(1).map(|bits| bits.parse().unwrap()).collect();
            assert_eq!(bits.len(), expected.len(), "{}", self.def.name);
            for (at, (found, expected)) in bits.into_iter().map(f64::from_bits).zip(&expected).enumerate() {
                let found = comparable(self.def.params[self.def.output].dtype, found);
                let place = format!("the {side} of `{}` at {:?}, element {at}", self.def.name, self.shape);
                assert!(
                    expected.admits(self.def.computes_in(), found),
                    "{place}: found {found}, expected {expected:?}"
                );
            }
        }
    }

    fn expected(&self) -> Vec<Approx> {
        let tensor = |(at, param): (usize, &Param)| {
            let count = usize::try_from(self.dims(param).iter().product::<i64>()).unwrap();
            let element = |n: usize| match param.dtype {
                DType::F32 => number(n, at).into(),
                DType::F64 => f64::from(number(n, at)),
                DType::F16 => f16::from_f32(number(n, at)).to_f64(),
                DType::BF16 => bf16::from_f32(number(n, at)).to_f64(),
                DType::U8 => ((128.0 * number(n, at)) as u8).into(),
                DType::I8 => ((128.0 * number(n, at)) as i8).into(),
                DType::I32 => ((128.0 * number(n, at)) as i32).into(),
            };
            let values = match (param.is_scalar(), param.dtype) {
                (true, DType::I32) => vec![self.integer().into()],
                (true, _) => vec![f64::from(self.scalar)],
                (false, _) => (0..count).map(element).collect(),
            };
            (Name::from(&*param.name), values)
        };
        let tensors: Tensors = self.def.params.iter().enumerate().map(tensor).collect();
        reference::evaluate(&frontend::program(self.def), &self.shape, &tensors).unwrap()
    }
}
