//! The one table of user errors: every sentence that the front end can say about a kernel.
//!
//! A sentence names what was found, then what is allowed or what to do. Errors accumulate, so that one build
//! reports everything that is wrong with a function.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use std::fmt;

/// All that is wrong with a kernel, in source order.
#[derive(Clone, Debug, Default)]
pub struct Errors(Vec<syn::Error>);

impl Errors {
    /// The errors as `compile_error!` items, each at its own tokens.
    pub fn to_compile_error(&self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }

    /// (line, column, sentence) of each error; both count from 1, as compilers print them.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, String)> {
        self.0.iter().map(|error| {
            let at = error.span().start();
            (at.line, at.column + 1, error.to_string())
        })
    }

    /// Whether nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much was found wrong.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an error at some tokens.
    pub(crate) fn push(&mut self, at: impl ToTokens, problem: Problem) {
        self.0.push(syn::Error::new_spanned(at, problem));
    }

    /// One error, at a place of a text.
    pub(crate) fn at(span: Span, problem: Problem) -> Errors {
        Errors(vec![syn::Error::new(span, problem)])
    }

    /// The value if nothing was found wrong, else the errors in source order.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, Errors> {
        self.0.sort_by_key(|error| (error.span().start().line, error.span().start().column));
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self),
        }
    }
}

impl From<syn::Error> for Errors {
    fn from(error: syn::Error) -> Errors {
        Errors(error.into_iter().collect())
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (line, column, sentence)) in self.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{line}:{column}: {sentence}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

/// Declares [`Problem`] and its `Display` from rows of `Name(fields) "sentence";`.
macro_rules! problems {
    ($($(#[$section:meta])* $name:ident $(($($field:ident),+))? $sentence:literal;)+) => {
        /// A row of the table.
        #[derive(Clone, Debug)]
        pub(crate) enum Problem {
            $($(#[$section])* $name $({ $($field: String),+ })?,)+
        }

        impl fmt::Display for Problem {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Problem::$name $({ $($field),+ })? => write!(f, $sentence),)+
                }
            }
        }
    };
}

problems! {
    // The attribute.
    AttributeArgument(found)
        "found `{found}`; dynamic_kernel takes `config = \"path/to/config.json\"`, constants, `consts(K = 768)`, \
         operands that are laid out before calls, `prepared(w)`, or nothing";
    ConfigNotAString(found)
        "found `{found}` as the config; expected a string: `config = \"path/to/config.json\"`";
    ConfigTwice "the config is given twice; give it once";
    ConfigEmpty "the config is an empty path; leave it out to use the default micro-kernel";
    ConstantsTwice "`consts(…)` is given twice; declare all constants in one, such as `consts(K = 768, EPS = 1e-5)`";
    ConstantForm(found) "found `{found}`; a constant is declared by name and value, such as `consts(K = 768, EPS = 1e-5)`";
    ConstantTwice(name) "the constant `{name}` is declared twice; declare it once";
    ConstantValue(name, found, most, computes_in)
        "found `{found}` as the constant `{name}`; it is an integer from 0 to {most}, such as `768`, for extents and indices, \
         or a float within `{computes_in}`, such as `1e-5`, for elements";
    ConstantSuffix(name, found, computes_in, written)
        "found `{found}` as the constant `{name}`, but this nest computes in `{computes_in}`; write `{written}`, without a suffix";
    ConstantOfIntegers(name, found, most)
        "found `{found}` as the constant `{name}`; in a nest of integers it is an integer from 0 to {most}, such as `768`, without a suffix, and \
         `{name} as i32` is an element";
    UnusedConstant(name) "the constant `{name}` is never used; remove it from `consts(…)`";
    PreparedListTwice "`prepared(…)` is given twice; list all operands in one, such as `prepared(w, v)`";
    PreparedForm(found) "found `{found}`; operands that are laid out before calls are listed by their names, such as `prepared(w)`";
    PreparedTwice(name) "`{name}` is listed twice as prepared; list it once";
    PreparedNoInput(name) "`{name}` is listed as prepared, but it is no tensor that the kernel only reads; list parameters such as `w: &[[f32; K]; N]`";
    PreparedNotSummed(name)
        "`{name}` is listed as prepared, but it is not read in what is summed, or elsewhere too; only what a sum alone reads is laid out \
         before calls";
    PreparedIntegers(name) "`{name}` cannot be prepared: a sum of integers takes its operands as they lie in their tensors";
    PreparedAxis(name)
        "`{name}` cannot be prepared: none of its dimensions is indexed by just the variable of a loop over the output, which no other \
         dimension of it moves with";
    AttributeTwice "dynamic_kernel stands here a second time; a kernel carries it once";
    NotAFunction
        "dynamic_kernel stands on something that is not a free function; put it on a `fn` outside `impl` and `trait`";

    // The function.
    Qualifier(found) "found `{found}`; a kernel is a plain `fn`: remove it";
    Generics
        "found generic parameters; a kernel has none: its extents are named by the array types, `&[[f32; K]; M]`";
    Where "found a `where` clause; a kernel has no generic parameters to constrain: remove it";
    ReturnType "found a return type; a kernel returns nothing and writes its `&mut` parameter: remove it";
    Variadic "found `...`; a kernel lists each of its parameters";
    SelfParameter "found `self`; a kernel is a free function over tensors";
    ParameterPattern(found) "found the pattern `{found}`; a parameter is a plain name";
    ParameterAttribute "found an attribute on a parameter; a kernel's parameters carry none";
    ParameterTwice(name) "the parameter `{name}` is declared twice; give each its own name";
    NoOutput "no parameter is `&mut`; a kernel writes exactly one, such as `y: &mut [[f32; N]; M]`";
    SecondOutput(first, name)
        "`{name}` is a second `&mut` parameter after `{first}`; a kernel has one output: split it into two kernels";
    TooMany(found, what, most) "the kernel has {found} {what}; at most {most} are supported";

    // Types.
    NotAReference(found) "found the type `{found}`; a tensor is borrowed: `&[[f32; K]; M]`, or `&mut …` for the output";
    NotAnArray(found) "found the type `{found}`; a tensor is a nested array with its extents, such as `[[f32; K]; M]`";
    Slice "found a slice; write its extent after a semicolon, such as `[f32; N]`";
    ScalarType(found)
        "found the type `{found}`; a scalar parameter is an `f32`, an `f64` or an `i32`, and a tensor is borrowed: `&[[f32; K]; M]`";
    ScalarInteger(found)
        "found the type `{found}`; a scalar parameter is an `f32`, an `f64` or an `i32`: an extent is a shape variable, which the type of a tensor names, \
         `&[[f32; K]; M]`, or a constant, `consts(K = 768)`";
    ScalarByReference(found)
        "found the type `{found}`; a scalar parameter is taken by value, as `f32`, `f64` or `i32`, and a tensor has extents: `&[f32; N]`";
    ScalarOutput(found)
        "found the type `{found}`; a scalar parameter is never written, and the output has extents, such as `&mut [f32; 1]`";
    UnusedScalar(name) "the scalar parameter `{name}` is never used; remove it, or compute with it";
    ElementType(found) "found the element type `{found}`; the elements of a tensor are `f32`, `f16`, `bf16`, `f64`, `u8`, `i8` or `i32`";
    Lifetime(found) "found the lifetime `{found}`; a kernel's parameters carry none: remove it";
    Rank(found, most) "found an array of {found} dimensions; at most {most} are supported";
    ExtentNotPositive(found) "the extent is {found}; an extent is at least 1";
    UnboundShapeVar(name)
        "the shape variable `{name}` is bound by no parameter; some parameter needs a dimension that is just `{name}`, \
         or, if it is a constant, the attribute declares it: `#[dynamic_kernel(consts({name} = …))]`";
    PathInIndex(found, name)
        "found the path `{found}`; the front end sees no items: declare the constant by a name of its own, \
         `#[dynamic_kernel(consts({name} = …))]`, and write that";

    // Names.
    NameReserved(name, prefix) "the name `{name}` starts with `{prefix}`, which generated code keeps for itself; rename it";
    NameKeyword(name) "the name `{name}` is taken in the generated C or CUDA code; rename it";
    NameTaken(name) "the name `{name}` is taken in the generated Rust code; rename it";
    NameUnderscore(name) "the name `{name}` starts with an underscore, which C keeps for itself; rename it";
    NameTooLong(length, most) "the name is {length} characters long; at most {most} are supported";
    NameNotAscii(name) "the name `{name}` is not ASCII; it becomes a C identifier: use letters, digits and `_`";
    NameRaw(name) "found the raw identifier `{name}`; it becomes a C identifier: use a name that is no keyword";
    Shadows(name, kind) "the name `{name}` is already {kind}; give each its own name";
    Unknown(name)
        "unknown name `{name}`; a nest knows its parameters, shape variables, loop variables, `let`s and declared constants, \
         nothing outside";
    FloatConstant(found, constants, computes_in)
        "found the constant `{found}`; of those that `{computes_in}` has, a nest knows {constants}: declare others by a name of their own, \
         `#[dynamic_kernel(consts(…))]`";
    UnknownConstant(found, name)
        "unknown name `{found}`; a nest knows nothing outside: if it is a constant, declare it, \
         `#[dynamic_kernel(consts({name} = …))]`, and write `{name}`";

    // Functions inside the kernel's body.
    HelperQualifier(found) "found `{found}`; a function inside a kernel is a plain `fn` without generics: remove it";
    HelperType(found, computes_in)
        "found the type `{found}`; a function inside this kernel takes `{computes_in}`s, and returns one";
    HelperReturn(name, computes_in)
        "`{name}` returns nothing; a function inside a kernel returns an element: `fn {name}(v: {computes_in}) -> {computes_in} {{ … }}`";
    HelperPlace "found a function inside a loop or branch; put it at the top of the kernel's body";
    HelperArguments(name, found, expected) "wrong number of arguments: found {found}; `{name}` takes {expected}";
    HelperAsValue(name) "`{name}` is a function; call it to have an element: `{name}(…)`";
    UnknownInHelper(name)
        "unknown name `{name}`; a function inside a kernel knows its parameters and `let`s, nothing of the nest: \
         pass the element as an argument";
    Recursion(name)
        "this call leads back to `{name}`, which it stands in; a call is replaced by the function's body, so none may be recursive";

    // Statements.
    InnerAttribute "found an attribute inside the nest; loops, statements and expressions carry none: remove it";
    Statement(found)
        "found {found}; a nest is made of `for v in 0..extent` loops, `let`s and assignments to an accumulator or the output";
    StatementConst(name, value)
        "found a `const` inside the nest; declare it in the attribute: `#[dynamic_kernel(consts({name} = {value}))]`";
    StatementIf
        "found an `if` statement; write the choice as a value, `y[i] = if a < b {{ … }} else {{ … }};`, \
         or put it around all loops of a sum: `if alpha != 0.0 {{ for k in 0..K {{ … }} }}`";
    ElseOfSum "found the `else` of a condition around a sum; where it does not hold nothing is summed: remove it";
    ConditionVaries(found)
        "found `{found}` around the loops of a sum; such a condition is the same throughout a call: \
         it compares scalar parameters and literals";
    ConditionInLoop(name)
        "the condition stands inside the loop over `{name}`, which is summed over; put it around all loops of the sum";
    SecondCondition "found a second condition around the loops of a sum; a sum has one comparison around it";
    AssignUnderCondition
        "found an assignment under a condition, outside the loops of the sum; only the sum is: assign before or after it";
    Label(found) "found the label `{found}`; a nest has no jumps: remove it";
    LoopPattern(found) "found the pattern `{found}`; a loop variable is a plain name";
    LoopRange(found) "found `{found}`; a loop runs over a range of shape variables and integers, such as `0..M` or `1..M - 1`";
    LoopEnd(start) "the loop has no end; write `{start}..extent`, where the extent is a shape variable such as `M`";
    RangeOfLoop(found, name, range, statement)
        "`{found}` depends on the loop variable `{name}`, but a loop runs over the same range throughout a call; \
         write `{range}`, and in it `{statement}`";
    RangeOfLoopBeyond(found, name, range, statement, tensor, extent, reached, room)
        "`{found}` depends on the loop variable `{name}`, but a loop runs over the same range throughout a call; \
         over `{range}` an index of `{tensor}` has the values `{reached}` where the extent is `{extent}`, and a call checks all of them, \
         also those that a condition leaves out: let the loop's variable be that index itself, or {room}, and then write `{range}`, \
         and in it `{statement}`";
    RangeOfLoopOfIntegers(found, name, range)
        "`{found}` depends on the loop variable `{name}`, but a loop runs over the same range throughout a call, and only floats are chosen \
         between; write `{range}`, and pass inputs of which what was left out changes nothing, such as zeros in a sum";
    RangeOfWindow(found, name, range, var, value, statement)
        "`{found}` depends on the loop variable `{name}`, but a loop runs over the same range throughout a call; \
         write `{range}`, and in it `{value}` for `{var}`: `{statement}`";
    RangeEmpty(found, value) "the range `{found}` has {value} iterations; one that does not depend on the shape has at least 1";
    TooManyLoops(most) "the nest is deeper than {most} loops, which is the most supported";
    SecondLoop
        "found a second loop beside the one above; a nest has one chain of loops: split it into two kernels \
         (what a sum starts with is assigned inside the loops, right before the sum)";
    EmptyLoop "the loop has no effect on the output; its body needs a loop, or an assignment that reaches the output";
    LetPattern(found) "found the pattern `{found}`; a `let` binds a plain name";
    LetWithoutValue(name) "`{name}` has no value; write `let {name} = …;`";
    LetElse "found `let … else`; a `let` binds a plain name to a value";
    LetType(found, computes_in) "found the type `{found}`; a `let` is an `{computes_in}` (an element) or a `usize` (an index)";
    MutableIndex(name, found)
        "`{name}` is a mutable index, and only accumulators are mutable; write `let {name} = {found};`, and what it would become \
         as another `let`";
    IntegerAccumulator(found, written) "found `{found}`; an accumulator is a float: write `{written};`";
    AssignTarget(found) "`{found}` is assigned to; only an accumulator (`let mut`) and an element of the output are";
    AssignImmutable(name, kind) "`{name}` is assigned to but it is {kind}; only an accumulator (`let mut`) and the output are";
    AssignInput(name, output) "`{name}` is written, but it is an input; the output is `{output}`: a kernel writes nothing else";
    AssignOperator(found) "found `{found}`; elements are changed by `=`, `+=`, `-=`, `*=` and `/=`";
    NoReduction(found)
        "found `{found}` under a reduction loop; a reduction is a sum, `acc += e` or `acc -= e`, a product, `acc *= e`, a maximum, \
         `acc = acc.max(e)`, or a minimum, `acc = acc.min(e)`";
    QuotientUnderReduction(name)
        "found `/=` under a reduction loop; terms are combined in any order: multiply by the reciprocals, `{name} *= 1.0 / …`, \
         or divide by the product behind the loop";
    SecondTerm(name, merged)
        "found a second update of `{name}` under reduction loops; a nest has one: combine both terms at once, `{merged}`";
    MixedOperators(name, first, second)
        "found a {second} under reduction loops, where `{name}` is a {first} above; a reduction has one operator: \
         split it into two kernels, or make one term of both";
    SecondUpdate(first, found)
        "found a second reduction, into `{found}` after `{first}`; a nest has one: \
         split it into two kernels, and let the second one read what the first one stored";
    SecondDepth(name)
        "found a second update of `{name}`, under other loops than the first; a nest has one: \
         split it into two kernels, and let the second one start with what the first one stored";
    OutputIndex(found)
        "found the output index `{found}`; each has one loop variable, plus or minus integers and shape variables: \
         loop over the index of the output, and compute those of the inputs from it";
    OutputIndexScaled(found, name)
        "found the output index `{found}`; in it `{name}` is not multiplied: give the output another dimension, \
         such as `[[f32; 2]; M]` and `y[{name}][0]` for every second element";
    OutputIndexReversed(found, name, range)
        "found the output index `{found}`; in it `{name}` is not subtracted: write `{range}`, store at `{name}`, \
         and read at `{found}` what is read at `{name}`";
    OutputIndexTwice(name) "the loop variable `{name}` indexes the output twice; each indexes one dimension";
    OutputIndexDiffers(found, expected) "found `{found}`, but the output's element is `{expected}` above; a nest writes one element";
    StoreUnderReduction(name)
        "the output is overwritten in each iteration of `{name}`, which does not index it; reduce, such as by `+=`, or store outside that loop";
    NoStore(name) "the output `{name}` is never written; a nest ends in an assignment to it";
    SumNotStored "the sum is never stored; assign the accumulator to the output after its loops";

    // Expressions.
    Expression(found) "found {found}; an element is made of loads, literals, `+ - * /`, `if … else`, casts and methods";
    FreeCall(found, methods, computes_in)
        "found a call of `{found}`; a nest calls functions that stand in the kernel's body, `fn name(v: {computes_in}) -> {computes_in} {{ … }}`, \
         and methods: {methods}";
    Method(name, methods) "unknown method `{name}`; a nest may call {methods}";
    MethodArguments(name, found, expected) "wrong number of arguments: found {found}; `.{name}()` takes {expected}";
    PowiExponent(found)
        "found the exponent `{found}`; that of `.powi()` is an integer such as `3` or `-1`, or a declared one, and that of `.powf()` any element";
    ClampBounds(low, high) "`.clamp({low}, {high})` has its bounds in the wrong order; the lower one comes first";
    Turbofish(name) "found generic arguments on `.{name}()`; remove them";
    Operator(found) "found the operator `{found}`; elements are combined by `+ - * /`";
    Condition(found) "found `{found}`; a condition is one comparison of elements: `a < b` (or `<= > >= == !=`)";
    IndexCompared(found, written)
        "found `{found}`; a condition compares elements: write `{written}` (a call checks what both values read: \
         an iteration that would read outside of a tensor is left out by the loop's range, `for i in 1..M {{ y[i] = x[i - 1]; }}`)";
    NoElse "the `if` has no `else`; both values are needed";
    BranchStatement "found a statement; a branch, and the body of a function, is made of `let`s and a value at its end";
    BranchReturn(value) "found a `return`; a block has the value at its end: write `{value}`, without `return` and semicolon";
    BranchValue "found no value at the end of the block; end it with an expression without a semicolon";
    IntegerLiteral(found) "found the integer `{found}`; an element is a float: write `{found}.0`";
    FloatLiteral(found, computes_in) "found the literal `{found}`; a literal is a decimal number, with `{computes_in}` after it or nothing";
    FloatRange(found, computes_in, limit) "the literal `{found}` does not fit into an {computes_in}; {limit}";
    OtherLiteral(found) "found the literal `{found}`; an element is a float such as `1.5`";
    CastType(found, computes_in) "found a cast to `{found}`; elements and indices are cast to `{computes_in}`, and an index needs no cast";
    WholeTensor(name) "the tensor `{name}` is used as a whole; index it down to an element";
    IndexAsElement(name, computes_in) "`{name}` is an index; write `{name} as {computes_in}` to use it as an element";
    NotATensor(name, kind) "`{name}` is indexed, but it is {kind}; only tensors are";
    IndexedExpression(found) "`{found}` is indexed; only tensors are";
    WrongRank(name, found, rank) "wrong number of indices: found {found}; `{name}` has rank {rank}, one index per dimension";
    IndexOutside(found, name, reached, extent)
        "the index `{found}` of `{name}` reaches {reached}, where the extent is {extent}: outside at every shape; \
         change the index, the range of its loop or the type of `{name}`";
    OutputReadElsewhere(found, expected)
        "the output is read at `{found}`; it may be read only at the element that is written, `{expected}`";
    OutputInUpdate
        "the output is read in what is summed; a sum is of inputs: add or multiply by the output's element before or after \
         the loops of the sum";
    AccumulatorInLoop(name)
        "`{name}` is `let mut` and is read inside a loop below its `let`; read it after that loop, begin it in that loop, or make it a plain `let`";

    // Elements of a narrower type than the nest computes in.
    NarrowElement(found, dtype, computes_in)
        "`{found}` is an `{dtype}`, and this nest computes in `{computes_in}`; read it as `{computes_in}::from({found})`";
    Widening(found, computes_in, narrower)
        "found `{computes_in}::from({found})`; it converts an element of a tensor of {narrower}, and nothing else";
    OtherFloat(found, computes_in)
        "found `{found}`, but this nest computes in `{computes_in}`; a nest computes in `f64` if a parameter is an `f64`, in `i32` if all are \
         integers, and else in `f32`";
    NarrowStore(found, name, dtype, written)
        "found the value `{found}`, but the elements of `{name}` are `{dtype}`; store `{written}`";
    Narrowing(found) "found `{found}` here; a nest rounds only the whole value that it stores to an output of that type";
    IntegerOutput(name, dtype, computes_in)
        "the elements of `{name}` are `{dtype}`, and this nest computes in `{computes_in}`; integers are stored as `i32`, by a nest of which all \
         parameters are integers";
    IntegerAsFloat(name, computes_in) "`{name}` is an `i32`, and this is computed in `{computes_in}`; write `{name} as {computes_in}`";
    IntegerConverted(found, computes_in)
        "found `{found}`; of integers, the finished sum and elements are converted to `{computes_in}`: what is added to the sum is what it \
         starts with, `let mut acc = b[j];`";
    FloatInSum(found, dtype)
        "`{found}` is an `{dtype}`, and integers are computed here; sum floats, `let mut acc = 0.0;`, or use it beside the finished sum once that \
         is converted, `acc as f32`";
    FloatInIntegers(found, written) "found the float `{found}`, and all parameters of this nest are integers, so that it computes in `i32`; write {written}";
    FloatLiteralInSum(found, written)
        "found the float `{found}`, and integers are computed here; write {written}, or sum floats, `let mut acc = 0.0;`";
    IntegerInFloats(found, written, instead) "found `{found}`, an `i32`, and floats are computed here; write `{written}`{instead}";
    IntegerQuotient "found `/` between integers; integers are combined by `+ - *`, `.max()` and `.min()`";
    IntegerMethod(name) "found `.{name}()` of an integer; integers are combined by `+ - *`, `.max()` and `.min()`";
    IntegerChoice(found, instead)
        "found the condition `{found}`, and integers are computed here; only floats are chosen between: take the larger or the smaller integer \
         by `.max()` and `.min()`{instead}";
    HelperOfIntegers(name, computes_in) "`{name}` is called of integers; a function inside this kernel takes `{computes_in}`s";
    NarrowUpdate(name, dtype, written)
        "`{name}` is changed in place, but its elements are `{dtype}`, so that each step would round; \
         compute in a `let mut` and store `{written}` once";
    ReadBack(name, dtype)
        "`{name}` is read after it was stored, but its elements are `{dtype}`, so that the value would be rounded twice; \
         keep it in a `let`";

    // Indices.
    NotAffine(found)
        "`{found}` is not affine; an index or extent adds and subtracts variables and integers, each at most times an integer";
    ExtentNotAffine(found)
        "`{found}` is not affine; an extent adds and subtracts shape variables and integers, each at most times an integer: \
         if it is of constants alone, declare its value, `#[dynamic_kernel(consts(HALF = 384))]`, and write that name";
    ProductOfVariables(found) "`{found}` multiplies two variables; in an index or extent one factor is an integer";
    IndexCast(found) "found the cast `{found}` in an index; variables are integers already: remove it";
    IndexSuffix(found) "found the suffix in `{found}`; integers in an index carry none";
    ElementAsIndex(name, kind) "`{name}` is {kind}; an index is made of loop variables, shape variables and integers";
    Coefficient(most) "a coefficient or constant is larger than {most}, which is the most supported";

    // Sizes.
    TooDeep(most) "the expression is nested deeper than {most} levels; split it";
    NestedTooDeep(most) "this is nested deeper than {most} levels; split it";
    TooLarge(most) "the nest has more than {most} operations once its `let`s and functions are put in place; make it smaller";

    // Text that is no Rust.
    Unclosed(found) "`{found}` is not closed: what closes it is missing at some place behind it";
    WronglyClosed(found, open, line, column) "found `{found}`, but `{open}` at {line}:{column} is to be closed first";
    ClosesNothing(found) "found `{found}`, which closes nothing";
    NoToken(found) "found `{found}`, with which no token of Rust begins; of a string or comment, the end may be missing";

    // Conditional compilation.
    CfgPredicate(found) "found `{found}`; a cfg predicate is `name`, `name = \"value\"`, `all(…)`, `any(…)` or `not(…)`";
}
