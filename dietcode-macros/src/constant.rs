//! The signature of a kernel as a constant of the runtime's types.

use crate::paths;
use dietcode_syntax::{Affine, DType, KernelDef, Role, bounds};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

/// What a call of the kernel must look like.
pub(crate) fn signature(def: &KernelDef) -> TokenStream {
    let core = paths::core();
    let runtime = quote!(#core::runtime);
    let (name, hash) = (&def.name, def.source_hash());
    let shape_vars = def.shape_vars.iter().map(|var| {
        let (name, param, dim) = (&var.name, var.param, var.dim);
        quote!(#runtime::ShapeVar { name: #name, param: #param, dim: #dim })
    });
    let params = def.params.iter().map(|param| {
        let (name, mutable) = (&param.name, param.mutable);
        let dtype = match param.dtype {
            DType::F32 => quote!(F32),
            DType::F16 => quote!(F16),
            DType::BF16 => quote!(BF16),
            DType::F64 => quote!(F64),
            DType::U8 => quote!(U8),
            DType::I8 => quote!(I8),
            DType::I32 => quote!(I32),
        };
        let dims = param.dims.iter().map(|dim| affine(def, dim));
        quote!(#runtime::Param { name: #name, dtype: #runtime::DType::#dtype, dims: &[#(#dims),*], mutable: #mutable })
    });
    let loops = def.loops.iter().map(|l| {
        let (name, extent, reduce) = (&l.name, affine(def, &l.extent), l.role == Role::Reduce);
        quote!(#runtime::SignatureLoop { name: #name, extent: #extent, reduce: #reduce })
    });
    let bounds = bounds(def).into_iter().map(|bound| {
        let (param, dim, index) = (bound.param, bound.dim, bound.index.to_string());
        let (least, greatest) = (affine(def, &bound.least), affine(def, &bound.greatest));
        quote! {
            #runtime::Bound { param: #param, dim: #dim, least: #least, greatest: #greatest, index: #index }
        }
    });
    let prepared = def.prepared.iter().map(|prepared| {
        let (param, dim, panel) = (prepared.param, prepared.dim, prepared.panel as usize);
        let (outer, inner) = (&prepared.outer, &prepared.inner);
        quote! {
            #runtime::PreparedLayout {
                param: #param, dim: #dim, outer: &[#(#outer),*], inner: &[#(#inner),*], panel: #panel,
            }
        }
    });
    quote! {
        #runtime::Signature {
            name: #name,
            source_hash: #hash,
            shape_vars: &[#(#shape_vars),*],
            params: &[#(#params),*],
            loops: &[#(#loops),*],
            bounds: &[#(#bounds),*],
            prepared: &[#(#prepared),*],
        }
    }
}

/// The signature of a kernel that has errors.
pub(crate) fn empty(name: &Ident) -> TokenStream {
    let (core, name) = (paths::core(), name.to_string());
    quote! {
        #core::runtime::Signature {
            name: #name, source_hash: 0, shape_vars: &[], params: &[], loops: &[], bounds: &[], prepared: &[],
        }
    }
}

/// An expression of shape variables, which the runtime knows by position.
fn affine(def: &KernelDef, affine: &Affine) -> TokenStream {
    let position = |name: &str| def.shape_vars.iter().position(|var| var.name == name);
    let terms = affine.terms.iter().filter_map(|(name, coefficient)| {
        let var = position(name)?;
        Some(quote!((#var, #coefficient)))
    });
    let (core, constant) = (paths::core(), affine.constant);
    quote!(#core::runtime::Affine { terms: &[#(#terms),*], constant: #constant })
}
