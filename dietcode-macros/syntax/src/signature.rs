//! The function's head: qualifiers, parameters and the shape variables that their types name.

use crate::affine::affine;
use crate::attribute::Arguments;
use crate::conversion::is_type;
use crate::error::{Errors, Problem};
use crate::scope::plain;
use crate::text::text;
use crate::{Affine, Constant, DType, Param, ShapeVar, name};
use proc_macro2::Ident;
use syn::{BinOp, FnArg, Pat, PatType, ReturnType, Type, TypeReference};

/// The most dimensions a tensor may have.
pub const MAX_RANK: usize = 8;

/// The most parameters a kernel may have; the runtime holds that many.
pub const MAX_PARAMS: usize = 16;

/// The most shape variables a kernel may have; the runtime holds that many.
pub const MAX_SHAPE_VARS: usize = 16;

/// What the head says.
pub(crate) struct Signature {
    pub(crate) params: Vec<Param>,
    pub(crate) shape_vars: Vec<ShapeVar>,
    /// Names that were reported: parameters, for their types, and what types use although nothing binds it.
    pub(crate) broken: Vec<String>,
    pub(crate) output: Option<usize>,
    /// What the attribute declares.
    pub(crate) constants: Vec<Constant>,
    /// The type that sums, temporaries and constants of the nest have.
    pub(crate) computes: DType,
}

impl Signature {
    /// Whether sums may be of integers in a nest that computes floats.
    pub(crate) fn sums_integers(&self) -> bool {
        self.computes == DType::F32 && self.params.iter().any(|param| param.dtype.is_integer())
    }

    /// Whether all variables of an index are shape variables, as those of where a loop starts are.
    pub(crate) fn has_all_of(&self, index: &Affine) -> bool {
        index.terms.iter().all(|(name, _)| self.shape_vars.iter().any(|var| var.name == *name))
    }
}

/// Reads the head as far as it makes sense, so that the body can be checked as well.
pub(crate) fn parse(sig: &syn::Signature, arguments: &Arguments, errors: &mut Errors) -> Signature {
    name::check(&sig.ident, errors);
    qualifiers(sig, errors);
    let mut signature = Signature {
        params: Vec::new(),
        shape_vars: Vec::new(),
        broken: arguments.broken.clone(),
        output: None,
        constants: arguments.constants.clone(),
        computes: computes_in(sig),
    };
    let mut used = Vec::new();
    for input in &sig.inputs {
        parameter(input, &mut signature, &mut used, errors);
    }
    if signature.output.is_none() && !sig.inputs.iter().any(is_mutable) {
        errors.push(&sig.ident, Problem::NoOutput);
    }
    check_constants(&signature, errors);
    signature.shape_vars = shape_vars(&signature.params);
    check_shape_vars(&mut signature, &used, errors);
    check_counts(sig, &signature, errors);
    signature
}

/// The type that a nest of a function with this head computes in.
pub fn computes_in(sig: &syn::Signature) -> DType {
    let element = |input: &FnArg| match input {
        FnArg::Typed(typed) => element_type(&typed.ty),
        FnArg::Receiver(_) => None,
    };
    DType::computing(sig.inputs.iter().filter_map(element))
}

/// The element type of a tensor, or of a scalar.
fn element_type(ty: &Type) -> Option<DType> {
    match ty {
        Type::Reference(reference) => element_type(&reference.elem),
        Type::Array(array) => element_type(&array.elem),
        ty => DType::ALL.into_iter().find(|dtype| is_type(ty, *dtype)),
    }
}

fn qualifiers(sig: &syn::Signature, errors: &mut Errors) {
    let mut remove = |at: &dyn quote::ToTokens, found: &str| {
        errors.push(at, Problem::Qualifier { found: found.to_string() });
    };
    sig.constness.iter().for_each(|at| remove(at, "const"));
    sig.asyncness.iter().for_each(|at| remove(at, "async"));
    sig.unsafety.iter().for_each(|at| remove(at, "unsafe"));
    sig.abi.iter().for_each(|at| remove(at, "extern"));
    if !sig.generics.params.is_empty() {
        errors.push(&sig.generics, Problem::Generics);
    }
    if let Some(clause) = &sig.generics.where_clause {
        errors.push(clause, Problem::Where);
    }
    if let ReturnType::Type(..) = &sig.output {
        errors.push(&sig.output, Problem::ReturnType);
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(variadic, Problem::Variadic);
    }
}

fn is_mutable(input: &FnArg) -> bool {
    matches!(input, FnArg::Typed(PatType { ty, .. }) if matches!(&**ty, Type::Reference(r) if r.mutability.is_some()))
}

fn parameter(input: &FnArg, signature: &mut Signature, used: &mut Vec<Ident>, errors: &mut Errors) {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => return errors.push(receiver, Problem::SelfParameter),
    };
    for attribute in &typed.attrs {
        errors.push(attribute, Problem::ParameterAttribute);
    }
    let ty = parameter_type(&typed.ty, &mut Extents { used, constants: &signature.constants }, errors);
    let ident = match &*typed.pat {
        Pat::Ident(p) if p.by_ref.is_none() && p.mutability.is_none() && p.subpat.is_none() => &p.ident,
        other => return errors.push(other, Problem::ParameterPattern { found: text(other) }),
    };
    name::check(ident, errors);
    let name = ident.to_string();
    if signature.params.iter().any(|p| p.name == name) {
        return errors.push(ident, Problem::ParameterTwice { name });
    }
    let mutable = is_mutable(input);
    match signature.output {
        Some(first) if mutable => {
            let first = signature.params[first].name.clone();
            errors.push(&typed.ty, Problem::SecondOutput { first, name: name.clone() });
        }
        None if mutable => signature.output = Some(signature.params.len()),
        _ => {}
    }
    if ty.is_none() {
        signature.broken.push(name.clone());
    }
    let (dtype, dims) = ty.unwrap_or((DType::F32, Vec::new()));
    signature.params.push(Param { name, dtype, dims, mutable });
}

/// The element type and the extents of a tensor, or of a scalar, which has none; `None` if the type was reported.
fn parameter_type(ty: &Type, extents: &mut Extents<'_>, errors: &mut Errors) -> Option<(DType, Vec<Affine>)> {
    let problem = match ty {
        Type::Reference(reference) => return tensor(reference, extents, errors),
        Type::Path(_) if element_type(ty).is_some_and(DType::is_computed_in) => {
            return element_type(ty).map(|dtype| (dtype, Vec::new()));
        }
        Type::Path(_) if is_integer(ty) => Problem::ScalarInteger { found: text(ty) },
        Type::Path(_) => Problem::ScalarType { found: text(ty) },
        _ => Problem::NotAReference { found: text(ty) },
    };
    errors.push(ty, problem);
    None
}

/// The element type of `&[[f32; K]; M]` and its extents, outermost first.
fn tensor(reference: &TypeReference, extents: &mut Extents<'_>, errors: &mut Errors) -> Option<(DType, Vec<Affine>)> {
    if let Some(lifetime) = &reference.lifetime {
        errors.push(lifetime, Problem::Lifetime { found: lifetime.to_string() });
    }
    let mut dims = Vec::new();
    let mut element = &*reference.elem;
    while let Type::Array(array) = element {
        dims.push(extents.read(&array.len, errors));
        element = &array.elem;
    }
    let dtype = element_type(element).filter(|_| matches!(element, Type::Path(_)));
    if dtype.is_some() && dims.is_empty() {
        let found = text(reference);
        errors.push(
            reference,
            match reference.mutability {
                None => Problem::ScalarByReference { found },
                Some(_) => Problem::ScalarOutput { found },
            },
        );
        return None;
    }
    let Some(dtype) = dtype else {
        let problem = match element {
            Type::Slice(_) => Problem::Slice,
            other if dims.is_empty() => Problem::NotAnArray { found: text(other) },
            other => Problem::ElementType { found: text(other) },
        };
        errors.push(element, problem);
        return None;
    };
    if dims.len() > MAX_RANK {
        errors.push(reference, Problem::Rank { found: dims.len().to_string(), most: MAX_RANK.to_string() });
    }
    Some((dtype, dims.into_iter().collect::<Option<_>>()?))
}

fn is_integer(ty: &Type) -> bool {
    const INTEGERS: [&str; 12] =
        ["usize", "isize", "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128"];
    INTEGERS.contains(&&*text(ty))
}

/// The lengths of array types; every name in one is a shape variable, unless it is a constant.
struct Extents<'a> {
    /// The shape variables that were met.
    used: &'a mut Vec<Ident>,
    constants: &'a [Constant],
}

impl Extents<'_> {
    fn read(&mut self, len: &syn::Expr, errors: &mut Errors) -> Option<Affine> {
        let is_quotient = |op: &BinOp| matches!(op, BinOp::Div(_) | BinOp::Rem(_) | BinOp::Shl(_) | BinOp::Shr(_));
        if matches!(plain(len), syn::Expr::Block(_))
            || matches!(plain(len), syn::Expr::Binary(binary) if is_quotient(&binary.op))
        {
            errors.push(len, Problem::ExtentNotAffine { found: text(len) });
            return None;
        }
        let mut resolve = |ident: &Ident, errors: &mut Errors| {
            if let Some(constant) = self.constants.iter().find(|constant| constant.name == *ident) {
                return constant.extent(ident, errors);
            }
            if !self.used.contains(ident) {
                name::check(ident, errors);
                self.used.push(ident.clone());
            }
            Some(Affine::var(ident.to_string()))
        };
        let extent = affine(len, &mut resolve, errors)?;
        if let Some(value) = extent.as_constant().filter(|value| *value < 1) {
            errors.push(len, Problem::ExtentNotPositive { found: value.to_string() });
        }
        Some(extent)
    }
}

/// A constant is called like no parameter.
fn check_constants(signature: &Signature, errors: &mut Errors) {
    for Constant { name, .. } in &signature.constants {
        if signature.params.iter().any(|param| *name == param.name) {
            errors.push(name, Problem::Shadows { name: name.to_string(), kind: "a parameter".to_string() });
        }
    }
}

/// Shape variables that some dimension binds, in order of first appearance in the canonical print.
fn shape_vars(params: &[Param]) -> Vec<ShapeVar> {
    let dims =
        || params.iter().enumerate().flat_map(|(p, param)| (0..).zip(&param.dims).map(move |(d, dim)| (p, d, dim)));
    let mut vars: Vec<ShapeVar> = Vec::new();
    for (_, _, dim) in dims() {
        for (name, _) in &dim.terms {
            let binder = dims().find(|(_, _, dim)| dim.as_var() == Some(name));
            if let Some((param, dim, _)) = binder.filter(|_| vars.iter().all(|var| var.name != *name)) {
                vars.push(ShapeVar { name: name.clone(), param, dim });
            }
        }
    }
    vars
}

/// Every name in a type must be bound by some dimension, and be no parameter's name.
fn check_shape_vars(signature: &mut Signature, used: &[Ident], errors: &mut Errors) {
    // A parameter whose type was reported may have been the one that binds, and a constant no shape variable.
    let complete = signature.broken.is_empty();
    for ident in used {
        let name = ident.to_string();
        if signature.params.iter().any(|param| param.name == name) {
            errors.push(ident, Problem::Shadows { name, kind: "a parameter".to_string() });
        } else if signature.shape_vars.iter().all(|var| var.name != name) {
            if complete {
                errors.push(ident, Problem::UnboundShapeVar { name: name.clone() });
            }
            signature.broken.push(name);
        }
    }
}

fn check_counts(sig: &syn::Signature, signature: &Signature, errors: &mut Errors) {
    let counts = [
        (signature.params.len(), MAX_PARAMS, "parameters"),
        (signature.shape_vars.len(), MAX_SHAPE_VARS, "shape variables"),
    ];
    for (found, most, what) in counts {
        if found > most {
            let (found, most, what) = (found.to_string(), most.to_string(), what.to_string());
            errors.push(&sig.ident, Problem::TooMany { found, what, most });
        }
    }
}
