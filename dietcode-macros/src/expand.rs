//! The items that a kernel becomes.

use crate::{checks, constant, docs, listing, params, paths, reference, repeated};
use dietcode_syntax::{
    Constant, Errors, KernelDef, constants, is_dynamic_kernel, parse_function, parse_kernel, prepared_names,
};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ItemFn;

/// A function of the kernel's name, which calls it, and a module of that name, which holds its parts.
pub(crate) fn expand(args: TokenStream, item: &TokenStream) -> TokenStream {
    let item = match parse_function(&args, item) {
        Ok(function) => function,
        Err(errors) => {
            let errors = errors.to_compile_error();
            return quote!(#errors #item);
        }
    };
    match parse_kernel(args.clone(), &item) {
        Ok(def) => kernel(&def, &constants(args.clone(), def.computes_in()), &prepared_names(args), &item),
        Err(errors) => skeleton(&errors, &prepared_names(args), &item),
    }
}

fn kernel(def: &KernelDef, constants: &[Constant], prepared: &[Ident], item: &ItemFn) -> TokenStream {
    let (name, core) = (&item.sig.ident, paths::core());
    let params = params::of_call(item, prepared);
    let args = params::operands(&params);
    let docs = docs::of_call(def, item, &core);
    let repeated = repeated::warnings(def, item);
    let body = quote!(#repeated #name::KERNEL.call(&mut #args));
    let call = call(item, &docs, &params::inputs(&params, params::operand), &body);
    let registry = registry(def);
    let doc = format!(
        "The kernel [`{name}`](fn@super::{name}): its signature, its micro-kernels, and which of them serves which shape."
    );
    let signature = constant::signature(def);
    let reference = reference::reference(def, constants, item);
    let tunable = tunable(def, &params);
    let elements = params::imports(&params);
    let prepare = prepare(def, &params);
    let module = module(
        item,
        &quote! {
            #elements
            #registry
            #[doc = #doc]
            pub static KERNEL: #core::runtime::Kernel = #core::runtime::Kernel {
                signature: #signature,
                table: &registry::TABLE,
                dispatch: registry::dispatch,
                cuda: &registry::CUDA,
            };
            #prepare
            #reference
            #tunable
        },
    );
    let checks = checks::checks(def, item, constants);
    quote!(#checks #call #module)
}

/// The function that users call. It keeps their attributes and documentation, which `docs` stands behind.
fn call(item: &ItemFn, docs: &TokenStream, inputs: &TokenStream, body: &TokenStream) -> TokenStream {
    let (visibility, name, core) = (&item.vis, &item.sig.ident, paths::core());
    let attributes = item.attrs.iter().filter(|attribute| !is_dynamic_kernel(attribute.path()));
    quote! {
        #(#attributes)*
        #docs
        #visibility fn #name<'a>(#inputs) -> #core::Result<()> {
            #body
        }
    }
}

/// The module beside it. It keeps their conditions.
fn module(item: &ItemFn, items: &TokenStream) -> TokenStream {
    let (visibility, name) = (&item.vis, &item.sig.ident);
    let conditions = item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let doc = format!("The parts of the kernel [`{name}`](fn@{name}).");
    quote! {
        #(#conditions)*
        #[doc = #doc]
        #[allow(dead_code, non_snake_case, unreachable_pub, reason = "a program need not use every part of a kernel")]
        #visibility mod #name {
            #items
        }
    }
}

/// The functions that lay operands out before calls.
fn prepare(def: &KernelDef, params: &[params::Param]) -> TokenStream {
    let core = paths::core();
    let functions = def.prepared.iter().map(|prepared| {
        let at = prepared.param;
        let params::Param { name, element, .. } = &params[at];
        let function = format_ident!("prepare_{name}");
        let doc = format!(
            "Lays `{name}` out as [`{0}`](fn@super::{0}) reads it: a copy, made once, for any number of calls.\n\n# Errors\n\nThose of \
             [`Prepared::new`]({1}::runtime::Prepared::new).",
            def.name,
            paths::link(&core)
        );
        quote! {
            #[doc = #doc]
            pub fn #function<'a>(
                #name: impl ::core::convert::Into<#core::runtime::TensorRef<'a, #element>>,
            ) -> #core::Result<#core::runtime::Prepared<#element>> {
                #core::runtime::Prepared::new(&KERNEL.signature, #at, ::core::convert::Into::into(#name))
            }
        }
    });
    quote!(#(#functions)*)
}

/// The kernel as an operation that is tuned at run time, and its call.
fn tunable(def: &KernelDef, params: &[params::Param]) -> TokenStream {
    let (core, inputs, operands) = (paths::core(), params::inputs(params, params::operand), params::operands(params));
    let (names, views) = (params.iter().map(|param| &param.name), params::viewed(params));
    let op_doc = format!(
        "[`{0}`](fn@super::{0}) as an operation that is tuned at run time: its candidates are the dispatcher, which is the default, the \
         selected micro-kernels and the nest.",
        def.name
    );
    let doc = format!(
        "[`{0}`](fn@super::{0}) by an operation of it, [`tunable`], that may have more candidates.\n\n# Errors\n\nThose of the \
         function, and of [`TunableOp::call`]({1}::runtime::tunable::TunableOp::call).",
        def.name,
        paths::link(&core)
    );
    quote! {
        #[doc = #op_doc]
        pub fn tunable() -> #core::runtime::tunable::KernelOp {
            #core::runtime::tunable::KernelOp::new(&KERNEL, |dietcode_call| {
                let [#(#names),*] = dietcode_call.operands()?;
                self::reference(#views)
            })
        }
        #[doc = #doc]
        #[allow(clippy::too_many_arguments, reason = "the operation, and what the kernel takes")]
        pub fn tuned<'a>(dietcode_op: &#core::runtime::tunable::KernelOp, #inputs) -> #core::Result<()> {
            dietcode_op.call_args(&mut #operands)
        }
    }
}

/// What the build script generated, or an error and stand-ins if it has not read this kernel.
fn registry(def: &KernelDef) -> TokenStream {
    let core = paths::core();
    if let Some(refusal) = listing::refusal(def) {
        return quote! {
            #refusal
            mod registry {
                pub(super) static TABLE: #core::runtime::TableSource =
                    #core::runtime::TableSource::Skipped("the build script has not read it");
                pub(super) fn dispatch(_: &[i64]) -> usize {
                    0
                }
                pub(super) static CUDA: #core::runtime::cuda::CudaTableSource =
                    #core::runtime::cuda::CudaTableSource::Skipped("the build script has not read it");
            }
        };
    }
    let path = format!("/dietcode/{}/registry.rs", def.name);
    quote! {
        mod registry {
            use #core as dietcode_core;
            ::core::include!(::core::concat!(::core::env!("OUT_DIR"), #path));
        }
    }
}

/// All errors, and items of the right names, so that callers do not get errors of their own.
fn skeleton(errors: &Errors, prepared: &[Ident], item: &ItemFn) -> TokenStream {
    let errors = errors.to_compile_error();
    let params = params::of_call(item, prepared);
    let (inputs, elements) = (params::unnamed(&params, params::view), params::imports(&params));
    let body = quote!(::core::unreachable!("the kernel has errors"));
    let core = paths::core();
    let operands = params::unnamed(&params, params::operand);
    let prepare = params.iter().filter(|param| param.kind == params::Kind::Prepared).map(
        |params::Param { name, element, .. }| {
            let function = format_ident!("prepare_{name}");
            quote! {
                /// Stands in for a kernel that has errors.
                pub fn #function<'a>(
                    _: impl ::core::convert::Into<#core::runtime::TensorRef<'a, #element>>,
                ) -> #core::Result<#core::runtime::Prepared<#element>> {
                    #body
                }
            }
        },
    );
    let call = call(item, &TokenStream::new(), &operands, &body);
    let signature = constant::empty(&item.sig.ident);
    let module = module(
        item,
        &quote! {
            #elements
            /// Stands in for a kernel that has errors.
            pub static KERNEL: #core::runtime::Kernel = #core::runtime::Kernel {
                signature: #signature,
                table: &#core::runtime::TableSource::Skipped("it has errors"),
                dispatch: |_| 0,
                cuda: &#core::runtime::cuda::CudaTableSource::Skipped("it has errors"),
            };
            #(#prepare)*
            /// Stands in for a kernel that has errors.
            pub fn reference<'a>(#inputs) -> #core::Result<()> {
                #body
            }
            /// Stands in for a kernel that has errors.
            pub fn tunable() -> #core::runtime::tunable::KernelOp {
                #body
            }
            /// Stands in for a kernel that has errors.
            pub fn tuned<'a>(_: &#core::runtime::tunable::KernelOp, #operands) -> #core::Result<()> {
                #body
            }
        },
    );
    quote!(#errors #call #module)
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proc_macro2::TokenStream;
    use syn::{File, Item, ItemFn, ItemMod, Visibility};

    fn items(args: &str, item: &str) -> (String, Vec<Item>) {
        let tokens = |text: &str| text.parse::<TokenStream>().expect("it lexes");
        let expansion = expand(tokens(args), &tokens(item));
        let file: File = syn::parse2(expansion.clone()).unwrap_or_else(|e| panic!("{e} in {expansion}"));
        (expansion.to_string(), file.items)
    }

    fn call_and_module(items: &[Item]) -> (&ItemFn, &ItemMod) {
        match items {
            [.., Item::Fn(call), Item::Mod(module)] => (call, module),
            other => panic!("a function and a module, found {} items", other.len()),
        }
    }

    const DENSE: &str = "
        /// Documented.
        #[inline] #[cfg(all())]
        pub(crate) fn dense(x: &[[f32; K]; M], y: &mut [f32; M]) {
            for i in 0..M { let mut acc = 0.0; for k in 0..K { acc += (x[i])[k + 0]; } y[i] = acc; }
        }";

    #[test]
    fn a_kernel_is_a_function_and_a_module() {
        let (text, items) = items("config = \"a.json\"", DENSE);
        let (call, module) = call_and_module(&items);
        assert_eq!((call.attrs.len(), module.attrs.len()), (4, 3), "conditions apply to both");
        assert!(matches!((&call.vis, &module.vis), (Visibility::Restricted(_), Visibility::Restricted(_))));
        assert!(!text.contains("compile_error"), "{text}");
        for part in [
            "env ! (\"DIETCODE_KERNEL_DENSE\"",
            "dispatch : registry :: dispatch",
            "pub fn tunable () -> :: dietcode_core :: runtime :: tunable :: KernelOp {",
            "pub fn tuned < 'a > (dietcode_op : & :: dietcode_core :: runtime :: tunable :: KernelOp , x : impl",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn the_reference_indexes_views() {
        let (text, _) = items("", DENSE);
        for part in [
            "for i in 0i64 .. M",
            "let mut acc = 0.0f32 ;",
            "acc += x [[(i) as usize , (k + 0) as usize]] ;",
            "y [[(i) as usize]] = acc ;",
            "let [M , K] = * dietcode_shape else",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn elements_have_the_types_that_the_parameters_say() {
        let (text, _) =
            items("", "fn narrow(x: &[f32; M], y: &mut [bf16; M]) { for i in 0..M { y[i] = bf16::from_f32(x[i]); } }");
        for part in [
            "Output < 'a , bf16 >",
            "TensorMut < 'a , bf16 >",
            "use :: dietcode_core :: bf16 ;",
            "DType :: BF16",
            "y [[(i) as usize]] = bf16 :: from_f32 (x [[(i) as usize]]) ;",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains(" f16"), "{text}");
        // A double is rounded once.
        let (text, _) =
            items("", "fn narrow(x: &[f64; M], y: &mut [f16; M]) { for i in 0..M { y[i] = f16::from_f64(x[i]); } }");
        let rounded = "= f16 :: from_f32 (:: dietcode_core :: runtime :: function :: to_odd (x [[(i) as usize]])) ;";
        assert!(text.contains(rounded), "{text}");
        // A function of that name in the kernel is the kernel's own.
        let own = "fn twice(x: &[f64; M], y: &mut [f64; M]) {
            for i in 0..M { y[i] = from_f64(x[i]); }
            fn from_f64(v: f64) -> f64 { v + v }
        }";
        let (text, _) = items("", own);
        assert!(text.contains("= from_f64 (x [[(i) as usize]]) ;") && !text.contains("to_odd"), "{text}");
    }

    #[test]
    fn functions_inside_the_kernel_stay_in_the_reference() {
        let (text, _) = items(
            "",
            "fn f(x: &[f32; M], y: &mut [f32; M]) {
                for i in 0..M { y[i] = gelu(x[i]); }
                /// Exact.
                #[inline]
                fn gelu(x: f32) -> f32 { 0.5 * x * (1.0 + (x * 0.5.sqrt()).erf()).clamp(0.0, 2.0).powi(1) }
            }",
        );
        let function = ":: dietcode_core :: runtime :: function ::";
        for part in [
            "y [[(i) as usize]] = gelu (x [[(i) as usize]]) ;",
            "# [inline] fn gelu (x : f32) -> f32 { 0.5f32 * x *",
            &format!(
                "{function} clamp ((1.0f32 + {function} erf ((x * 0.5f32 . sqrt ()) ,)) , 0.0f32 , 2.0f32) . powi (1)"
            ),
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn scalars_are_taken_by_value_in_their_places() {
        let (text, _) =
            items("", "fn scale(x: &[f32; M], by: f32, y: &mut [f32; M]) { for i in 0..M { y[i] = by * x[i]; } }");
        let input = "x : impl :: core :: convert :: Into < :: dietcode_core :: runtime ::";
        for part in [
            &format!("pub fn reference < 'a > ({input} TensorRef < 'a , f32 > > , by : f32 , y :"),
            &format!("fn scale < 'a > ({input} Input < 'a , f32 > > , by : f32 , y :"),
            "Arg :: from (by)",
            "Param { name : \"by\" , dtype : :: dietcode_core :: runtime :: DType :: F32 , dims : & [] , mutable : false }",
            "y [[(i) as usize]] = by * x [[(i) as usize]] ;",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("let by"), "{text}");
        let (text, _) = items("", "fn scale(by: f16, y: &mut [f32; M]) { for i in 0..M { y[i] = f32::from(by); } }");
        assert!(
            text.contains("fn scale < 'a > (_ : f16 ,") && text.contains("use :: dietcode_core :: f16 ;"),
            "{text}"
        );
    }

    #[test]
    fn a_constant_is_an_exponent_of_its_type_in_the_reference() {
        let nest = "fn f(x: &[f32; M], y: &mut [f32; M]) { for i in 0..M { y[i] = x[i].powi(P) + x[i].powi(-P); } }";
        let (text, _) = items("consts(P = 2)", nest);
        assert!(text.contains(". powi (((2i64)) as i32)") && text.contains(". powi ((- (2i64)) as i32)"), "{text}");
    }

    #[test]
    fn a_kernel_with_errors_leaves_items_of_the_right_names() {
        let (text, items) = items("", "fn f(self, (a, b): T, x: &[f32], y: &mut [f32; M]) -> u8 { loop {} }");
        let (call, module) = call_and_module(&items);
        assert!(call.sig.ident == "f" && module.ident == "f" && call.sig.inputs.len() == 4);
        assert_eq!(text.matches("compile_error").count(), 6, "{text}");
    }

    #[test]
    fn what_is_no_function_is_left_as_it_is() {
        let (text, items) = items("", "struct S;");
        assert!(matches!(&items[..], [_, Item::Struct(_)]), "{text}");
    }
}
