//! Functions inside a kernel's body, `fn gelu(v: f32) -> f32 { … }`: a call is replaced by the function's body.
//!
//! Parameters are bound to the arguments as by `let`, so all that is said of `let`s holds for them, their limits too. Each
//! function is checked once by itself, so that what is wrong with it is said once, whether or not it is called; and its calls
//! then have nothing left to say but that they are too many.

use crate::conversion::is_type;
use crate::error::{Errors, Problem};
use crate::nest::plain_name;
use crate::scope::{Meaning, Scope, lookup};
use crate::text::text;
use crate::{DType, Expr};
use proc_macro2::Ident;
use syn::{Block, ExprCall, FnArg, Item, ItemFn, ReturnType, Stmt, Type, Visibility};

/// A function inside the kernel's body.
pub(crate) struct Helper<'a> {
    pub(crate) name: &'a Ident,
    /// The parameters; what is known of one whose type was reported is its name.
    params: Vec<(&'a Ident, bool)>,
    body: &'a Block,
    state: State,
}

/// What is known of a function.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Its body was not looked at yet.
    Unknown,
    /// Its body is being looked at: who calls it now is called by it.
    Open,
    /// A call can be replaced by its body.
    Sound,
    /// Something was reported; its calls are not reported again.
    Broken,
}

/// Whether a statement at the top of a kernel's body is such a function.
pub(crate) fn is_helper(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Item(Item::Fn(_)))
}

/// The functions at the top of a kernel's body.
pub(crate) fn parse<'a>(body: &'a Block, computes: DType, errors: &mut Errors) -> Vec<Helper<'a>> {
    let functions = body.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Item(Item::Fn(function)) => Some(function),
        _ => None,
    });
    functions.map(|function| helper(function, computes, errors)).collect()
}

fn helper<'a>(function: &'a ItemFn, computes: DType, errors: &mut Errors) -> Helper<'a> {
    let sig = &function.sig;
    qualifiers(function, errors);
    let mut params: Vec<(&Ident, bool)> = Vec::new();
    for input in &sig.inputs {
        let Some((name, ty)) = parameter(input) else {
            let found = match input {
                FnArg::Typed(typed) => text(&typed.pat),
                FnArg::Receiver(receiver) => text(receiver),
            };
            errors.push(input, Problem::ParameterPattern { found });
            continue;
        };
        if params.iter().any(|(other, _)| *other == name) {
            errors.push(name, Problem::ParameterTwice { name: name.to_string() });
        }
        params.push((name, is_element(ty, computes, errors)));
    }
    match &sig.output {
        ReturnType::Type(_, ty) => drop(is_element(ty, computes, errors)),
        ReturnType::Default => {
            let (name, computes_in) = (sig.ident.to_string(), computes.to_string());
            errors.push(&sig.ident, Problem::HelperReturn { name, computes_in });
        }
    }
    // A body says nothing as long as it has names that are not known.
    let state = if params.len() == sig.inputs.len() { State::Unknown } else { State::Broken };
    Helper { name: &sig.ident, params, body: &function.block, state }
}

/// The name and the type of a parameter that is a plain name.
fn parameter(input: &FnArg) -> Option<(&Ident, &Type)> {
    let FnArg::Typed(typed) = input else { return None };
    plain_name(&typed.pat).filter(|(_, mutable)| !mutable).map(|(name, _)| (name, &*typed.ty))
}

/// Reports a type that is not what the nest computes in.
fn is_element(ty: &Type, computes: DType, errors: &mut Errors) -> bool {
    let is_element = is_type(ty, computes);
    if !is_element {
        errors.push(ty, Problem::HelperType { found: text(ty), computes_in: computes.to_string() });
    }
    is_element
}

fn qualifiers(function: &ItemFn, errors: &mut Errors) {
    if !function.sig.generics.params.is_empty() {
        errors.push(&function.sig.generics, Problem::HelperQualifier { found: "<…>".to_string() });
    }
    let mut remove = |at: &dyn quote::ToTokens| errors.push(at, Problem::HelperQualifier { found: text(at) });
    let sig = &function.sig;
    if !matches!(function.vis, Visibility::Inherited) {
        remove(&function.vis);
    }
    sig.constness.iter().for_each(|at| remove(at));
    sig.asyncness.iter().for_each(|at| remove(at));
    sig.unsafety.iter().for_each(|at| remove(at));
    sig.abi.iter().for_each(|at| remove(at));
    sig.variadic.iter().for_each(|at| remove(at));
    sig.generics.where_clause.iter().for_each(|at| remove(at));
}

impl Scope<'_> {
    /// Checks every function by itself.
    pub(crate) fn check_helpers(&mut self) {
        for at in 0..self.helpers.len() {
            let name = self.helpers[at].name;
            let others = || self.names[..at].iter().chain(&self.names[self.helpers.len()..]);
            if let Some((_, other)) = others().find(|(other, _)| name == other) {
                let kind = other.describe();
                self.errors.push(name, Problem::Shadows { name: name.to_string(), kind });
            }
            crate::name::check(name, self.errors);
            self.check(at, 0);
        }
    }

    /// The function of a name.
    pub(crate) fn helper(&self, name: &Ident) -> Option<usize> {
        match lookup(&self.names, name) {
            Some(Meaning::Helper(at)) => Some(*at),
            _ => None,
        }
    }

    /// `gelu(v)`: the function's body, its parameters bound to the arguments.
    pub(crate) fn inline(&mut self, call: &ExprCall, at: usize, depth: usize) -> Option<Expr> {
        let name = self.helpers[at].name.to_string();
        if self.helpers[at].state == State::Open {
            return self.fail(call, Problem::Recursion { name });
        }
        self.check(at, depth);
        if self.helpers[at].state == State::Broken {
            return None;
        }
        if self.computes != self.signature.computes {
            let computes_in = self.signature.computes.to_string();
            return self.fail(call, Problem::HelperOfIntegers { name, computes_in });
        }
        let arguments: Vec<_> = call.args.iter().map(|argument| self.value_at(argument, depth)).collect();
        let (found, expected) = (arguments.len().to_string(), self.helpers[at].params.len().to_string());
        if found != expected {
            return self.fail(call, Problem::HelperArguments { name, found, expected });
        }
        let computes = self.computes;
        let arguments = arguments.into_iter().map(|argument| argument.map(|value| Meaning::Element(value, computes)));
        let arguments = arguments.collect::<Option<_>>()?;
        let outermost = self.call.is_none().then(|| self.call = Some(call.clone()));
        let value = self.body(at, arguments, depth);
        if outermost.is_some() {
            self.call = None;
        }
        value
    }

    /// Looks at a function's body if nobody did.
    fn check(&mut self, at: usize, depth: usize) {
        if self.helpers[at].state != State::Unknown {
            return;
        }
        self.helpers[at].state = State::Open;
        // Whatever an argument is, it is at least one operation.
        let computes = self.signature.computes;
        let argument =
            |(_, known): &(&Ident, bool)| if *known { Meaning::Element(Expr::Acc, computes) } else { Meaning::Broken };
        let arguments: Vec<_> = self.helpers[at].params.iter().map(argument).collect();
        let (errors, operations, call) = (self.errors.len(), std::mem::take(&mut self.operations), self.call.take());
        let value = self.body(at, arguments, depth);
        (self.operations, self.call) = (operations, call);
        let is_known = self.helpers[at].params.iter().all(|(_, known)| *known);
        let is_sound = is_known && value.is_some() && self.errors.len() == errors;
        self.helpers[at].state = if is_sound { State::Sound } else { State::Broken };
    }

    /// The value of a function's body. It knows the other functions, the constants and its parameters.
    fn body(&mut self, at: usize, arguments: Vec<Meaning>, depth: usize) -> Option<Expr> {
        let items = self.helpers.len() + self.signature.constants.len();
        let outer = self.names.split_off(items);
        for (param, argument) in arguments.into_iter().enumerate() {
            self.declare(self.helpers[at].params[param].0, argument);
        }
        self.inside += 1;
        let value = self.branch(self.helpers[at].body, depth);
        self.inside -= 1;
        self.names.truncate(items);
        self.names.extend(outer);
        value
    }
}
