//! Ranges that start anywhere, output indices with offsets, and the nests that errors tell to write.

use dietcode_syntax::{Affine, Bound, KernelDef, bounds, scan};

fn parse(source: &str) -> Result<KernelDef, String> {
    let found = scan(source).expect("it is Rust");
    let [annotated] = found.as_slice() else { panic!("one kernel, found {}", found.len()) };
    annotated.parse().map_err(|errors| errors.to_string())
}

/// The canonical body, which is read back as the same.
fn body(source: &str) -> String {
    let def = parse(source).unwrap_or_else(|errors| panic!("{errors}\nin {source}"));
    let print = def.to_string();
    assert_eq!(parse(&print).as_ref(), Ok(&def), "{print}");
    print.lines().skip(2).map(str::trim).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_range_that_starts_elsewhere_is_one_that_starts_at_0() {
    let stencil = "#[dynamic_kernel] fn f(x: &[[f32; N]; M], y: &mut [[f32; N]; M]) {
        for i in 1..M - 1 { for j in 2..=N - 3 { let east = j + 1; y[i][j] = x[i - 1][j] + x[i][east] + i as f32; } } }";
    assert_eq!(
        body(stencil),
        "for i in 0..M - 2 { for j in 0..N - 4 { \
         y[i + 1][j + 2] = x[i][j + 2] + x[i + 1][j + 3] + ((i + 1) as f32); } } }"
    );
    let sum = "#[dynamic_kernel] fn f(x: &[[f32; K]; M], s: &[f32; S], y: &mut [f32; M]) {
        for i in S..M { for k in 2..K { y[i] += x[i][K + 1 - k]; } } }";
    assert_eq!(
        body(sum),
        "for i in 0..M - S { let mut acc = y[S + i]; for k in 0..K - 2 { acc += x[S + i][K - k - 1]; } y[S + i] = acc; } }"
    );
}

#[test]
fn an_offset_of_the_output_is_checked_by_a_call() {
    let def = parse("#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; N]) { for i in 1..M { y[i + 2] = x[i]; } }");
    let [bound] = &bounds(&def.unwrap())[..] else { panic!("one bound, of the output") };
    assert_eq!((bound.param, bound.least.to_string(), bound.greatest.to_string()), (1, "3".into(), "M + 1".into()));
    // What every shape has room for is not checked.
    let def =
        parse("#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M + 3]) { for i in 1..M { y[i + 2] = x[i]; } }");
    assert_eq!(bounds(&def.unwrap()), []);
}

#[test]
fn an_output_is_read_where_it_is_written() {
    let read = |at: &str| {
        parse(&format!(
            "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{
                for i in 1..M {{ let old = y[{at}]; let to = i - 1; y[to] = x[i] + old; }} }}"
        ))
    };
    assert!(read("i - 1").is_ok() && read("to").is_err());
    let error = read("i").unwrap_err();
    assert!(
        error.contains("the output is read at `y[i]`; it may be read only at the element that is written, `y[to]`"),
        "{error}"
    );
}

/// The only error of a nest, and what it quotes.
fn refused(source: &str) -> (String, Vec<String>) {
    let error = parse(source).unwrap_err();
    assert_eq!(error.lines().count(), 1, "{error}");
    let quoted = error.split('`').skip(1).step_by(2).map(ToString::to_string).collect();
    (error, quoted)
}

/// A nest that is refused, with the range and the statement that the error tells to write in their places.
fn rewritten(source: &str, range: &str, statement: &str) -> String {
    let (error, quoted) = refused(source);
    let write = quoted.iter().find(|quote| quote.starts_with("for ")).expect("a loop is quoted");
    assert!(source.contains(range) && source.contains(statement) && range.ends_with(&quoted[0]), "{error}");
    source.replace(range, write).replace(statement, quoted.last().expect("a statement is quoted"))
}

/// The indices of a nest that leave their tensors where each shape variable is 8; without rows, a nest over tensors that may be so has loops
/// that can be called.
fn outside(source: &str) -> Vec<String> {
    let def = parse(source).unwrap_or_else(|errors| panic!("{errors}\nin {source}"));
    if def.params.iter().flat_map(|param| &param.dims).all(|dim| dim.constant >= 0) {
        assert!(def.loops.iter().all(|l| l.extent.constant >= 0 || l.name == "i"), "at 0: {source}");
    }
    let value = |index: &Affine| index.constant + index.terms.iter().map(|(_, factor)| 8 * factor).sum::<i64>();
    let fits = |bound: &Bound| {
        value(&bound.least) >= 0 && value(&bound.greatest) < value(&def.params[bound.param].dims[bound.dim])
    };
    bounds(&def).iter().filter(|bound| !fits(bound)).map(|bound| bound.index.to_string()).collect()
}

#[test]
fn what_a_triangular_range_tells_to_write_is_a_nest_that_can_be_called() {
    let sum = |types: &str, range: &str, statement: &str| {
        format!(
            "#[dynamic_kernel] fn f({types}, y: &mut [f32; M]) {{
                for i in 0..M {{ let mut acc = 0.0; {range} {{ {statement} }} y[i] = acc; }} }}"
        )
    };
    let sums = [
        // Lower triangles: of a square matrix, without the diagonal's column, with it, of any width.
        (
            "x: &[[f32; M]; M]",
            "for k in 0..i",
            "acc += x[i][k];",
            "for k in 0..M { acc += if (k as f32) < (i as f32) { x[i][k] } else { 0.0 }; }",
        ),
        (
            "x: &[[f32; M - 1]; M]",
            "for k in 0..i",
            "acc += x[i][k];",
            "for k in 0..M - 1 { acc += if (k as f32) < (i as f32) { x[i][k] } else { 0.0 }; }",
        ),
        (
            "x: &[[f32; M]; M]",
            "for k in 0..=i",
            "acc += x[i][k];",
            "for k in 0..M { acc += if (k as f32) <= (i as f32) { x[i][k] } else { 0.0 }; }",
        ),
        (
            "x: &[[f32; N]; M]",
            "for k in 0..i",
            "acc += x[i][k];",
            "for k in 0..N { acc += if (k as f32) < (i as f32) { x[i][k] } else { 0.0 }; }",
        ),
        // A band.
        (
            "x: &[[f32; 2 * M]; M]",
            "for k in i..2 * i + 1",
            "acc -= x[i][k];",
            "for k in 0..2*M { acc += -(if (k as f32) >= (i as f32) { \
             if (k as f32) < ((2*i + 1) as f32) { x[i][k] } else { 0.0 } } else { 0.0 }); }",
        ),
        // Windows.
        (
            "x: &[f32; M + 2], w: &[f32; 3]",
            "for k in i..i + 3",
            "acc += x[k] * w[k - i];",
            "for k in 0..3 { acc += x[i + k] * w[k]; }",
        ),
        (
            "x: &[f32; M + W], w: &[f32; W]",
            "for k in i + 1..=i + W",
            "acc += x[k] * w[k - 1 - i] + k as f32;",
            "for k in 0..W { acc += x[i + k + 1] * w[k] + ((i + k + 1) as f32); }",
        ),
        (
            "x: &[f32; 3 * M]",
            "for k in 2 * i..2 * i + 2",
            "acc += x[M - 1 - i + k];",
            "for k in 0..2 { acc += x[M + i + k - 1]; }",
        ),
    ];
    for (types, range, statement, expected) in sums {
        let source = sum(types, range, statement);
        let advised = rewritten(&source, range, statement);
        let body = body(&advised);
        assert!(body.contains(expected), "{body}");
        assert_eq!(outside(&advised), [""; 0], "{advised}");
    }
    let upper = "#[dynamic_kernel] fn f(x: &[[f32; M]; M], y: &mut [[f32; M]; M]) {
        for i in 0..M { for j in i + 1..M { y[i][j] = x[i][j]; } } }";
    let advised = rewritten(upper, "for j in i + 1..M", "y[i][j] = x[i][j];");
    assert_eq!(
        body(&advised),
        "for i in 0..M { for j in 0..M { \
         y[i][j] = if (j as f32) >= ((i + 1) as f32) { x[i][j] } else { y[i][j] }; } } }"
    );
    assert_eq!(outside(&advised), [""; 0]);
    // Where an index of the output would have two variables, a window is no nest.
    let store = "#[dynamic_kernel] fn f(x: &[f32; M + 2], y: &mut [[f32; M + 2]; M]) {
        for i in 0..M { for j in i..=i + 2 { y[i][j] = x[j]; } } }";
    let advised = rewritten(store, "for j in i..=i + 2", "y[i][j] = x[j];");
    assert!(body(&advised).contains("for j in 0..M + 2 { y[i][j] = if (j as f32) >= (i as f32) {"), "{advised}");
    assert_eq!(outside(&advised), [""; 0]);
    let stencil = "#[dynamic_kernel] fn f(x: &[f32; M], w: &[f32; 3], y: &mut [f32; M]) {
        for i in 1..M - 1 { let mut a = 0.0; for j in i - 1..i + 2 { a += x[j] * w[j - i + 1]; } y[i] = a; } }";
    let advised = rewritten(stencil, "for j in i - 1..i + 2", "a += x[j] * w[j - i + 1];");
    assert_eq!(
        body(&advised),
        "for i in 0..M - 2 { let mut acc = 0.0; for j in 0..3 { acc += x[i + j] * w[j]; } y[i + 1] = acc; } }"
    );
    assert_eq!(outside(&advised), [""; 0]);
}

#[test]
fn what_is_told_to_write_is_of_the_type_that_the_nest_computes_in() {
    let sum = |dtype: &str, zero: &str| {
        format!(
            "#[dynamic_kernel] fn f(x: &[[{dtype}; M]; M], y: &mut [{dtype}; M]) {{
                for i in 0..M {{ let mut acc = {zero}; for k in 0..i {{ acc += x[i][k]; }} y[i] = acc; }} }}"
        )
    };
    let advised = rewritten(&sum("f64", "0.0"), "for k in 0..i", "acc += x[i][k];");
    assert!(body(&advised).contains("if (k as f64) < (i as f64) { x[i][k] } else { 0.0 }"), "{advised}");
    // Integers are not chosen between.
    let (error, quoted) = refused(&sum("i32", "0"));
    assert!(
        error.contains("only floats are chosen between") && quoted.last() == Some(&"for k in 0..M".into()),
        "{error}"
    );
}

#[test]
fn a_comparison_of_indices_says_one_of_elements() {
    for (dtype, found) in [("f32", "j < i"), ("f32", "0 < i + j"), ("f64", "i == 3"), ("f32", "(2 * i) >= (j)")] {
        let source = format!(
            "#[dynamic_kernel] fn f(x: &[[{dtype}; M]; M], y: &mut [[{dtype}; M]; M]) {{
                for i in 0..M {{ for j in 0..M {{ y[i][j] = if {found} {{ x[i][j] }} else {{ 0.0 }}; }} }} }}"
        );
        let (error, quoted) = refused(&source);
        let advised = source.replace(found, &quoted[1]);
        assert!(body(&advised).contains(&format!("as {dtype}) ")), "{error}");
    }
}

#[test]
fn a_triangular_range_that_would_leave_a_tensor_says_what_room_it_needs() {
    let nest = |tensor: &str, range: &str, statement: &str| {
        format!(
            "#[dynamic_kernel] fn f(x: &{tensor}, h: &[f32; M], y: &mut [f32; M]) {{
                for i in 0..M {{ let mut a = 0.0; {range} {{ {statement} }} y[i] = a; }} }}"
        )
    };
    // Behind: the error says how long.
    let (range, statement) = ("for k in 0..M - i", "a -= x[i][k + i] * h[k];");
    let square = nest("[[f32; M]; M]", range, statement);
    let (error, quoted) = refused(&square);
    assert!(error.contains("an index of `x` has the values `0..=2*M - 2` where the extent is `M`"), "{error}");
    let room = quoted.iter().find(|quote| *quote == "2*M - 1").unwrap_or_else(|| panic!("{error}"));
    assert_eq!(outside(&rewritten(&square, range, statement)), ["i + k"]);
    let padded = nest(&format!("[[f32; {room}]; M]"), range, statement);
    assert_eq!(outside(&rewritten(&padded, range, statement)), [""; 0]);
    // In front: the error says how many.
    let (range, statement) = ("for k in 0..=i", "a += x[i - k] * h[k];");
    let (error, quoted) = refused(&nest("[f32; M]", range, statement));
    assert!(error.contains("by `M - 1` in front") && quoted.contains(&"-M + 1..=M - 1".to_string()), "{error}");
    let statement = "a += x[i - k + M - 1] * h[k];";
    assert_eq!(outside(&rewritten(&nest("[f32; 2 * M - 1]", range, statement), range, statement)), [""; 0]);
    // The loop's variable as the index itself.
    let (range, statement) = ("for k in i..M", "a -= x[i][k];");
    assert_eq!(outside(&rewritten(&nest("[[f32; M]; M]", range, statement), range, statement)), [""; 0]);
}

#[test]
fn a_triangular_range_beside_a_type_that_was_refused_is_an_error_of_its_own() {
    for (input, output) in [("[f32; M]", "[[f32; M]; ..]"), ("[f32; ..]", "[[f32; M]; M]"), ("[f32; M]", "[f32; M]")] {
        let source = format!(
            "#[dynamic_kernel] fn f(x: &{input}, y: &mut {output}) {{
                for i in 0..M {{ for j in i..M {{ y[0][j] += x[j]; }} }} }}"
        );
        let errors = parse(&source).unwrap_err();
        assert!(errors.contains("`i..M`") && errors.lines().count() == 2, "{errors}");
    }
}

#[test]
fn what_a_reversed_output_index_tells_to_write_is_the_same_nest() {
    for (range, index, expected) in [
        ("0..N", "N - 1 - i", "for i in 0..N { y[i] = x[N - i - 1]; } }"),
        ("1..N", "N - i", "for i in 0..N - 1 { y[i + 1] = x[N - i - 1]; } }"),
        ("0..3", "5 - i", "for i in 0..3 { y[i + 3] = x[-i + 2]; } }"),
    ] {
        let source = format!(
            "#[dynamic_kernel] fn f(x: &[f32; N], y: &mut [f32; N]) {{ for i in {range} {{ y[{index}] = x[i]; }} }}"
        );
        let (error, quoted) = refused(&source);
        let [found, name, write, at, read, from] = &quoted[..] else { panic!("{error}") };
        assert!(found == index && read == index && name == "i" && at == "i" && from == "i", "{error}");
        let told = source.replace("x[i]", "x[READ]").replace(&format!("y[{index}]"), &format!("y[{at}]"));
        let told = told.replace("READ", read).replace(&format!("for i in {range}"), write);
        assert_eq!(body(&told), expected);
        assert_eq!(outside(&told), [""; 0]);
    }
}

#[test]
fn a_comparison_of_indices_names_the_range_that_leaves_iterations_out() {
    let nest = |body: &str| format!("#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; M]) {{ {body} }}");
    let (error, quoted) = refused(&nest("for i in 0..M { y[i] = if i > 0 { x[i - 1] } else { y[i] }; }"));
    assert!(error.contains("found `i > 0`; a condition compares elements: write `(i as f32) > 0.0`"), "{error}");
    let told = nest(quoted.last().unwrap());
    assert_eq!(body(&told), "for i in 0..M - 1 { y[i + 1] = x[i]; } }");
    assert_eq!(outside(&told), [""; 0]);
    let (error, _) = refused(&nest("for i in 0..M { y[i] = if M > i + 1 { x[i] } else { 0.0 }; }"));
    assert!(error.contains("found `M > i + 1`") && error.contains("write `(M as f32) > (i + 1) as f32`"), "{error}");
}

#[test]
fn what_a_second_update_tells_to_write_is_a_nest() {
    for (first, second, merged) in [
        ("acc += x[i][k];", "acc += b[k];", "x[i][k] + b[k]"),
        ("acc += x[i][k];", "acc -= b[k] - 1.0;", "x[i][k] - (b[k] - 1.0)"),
        ("acc -= x[i][k];", "acc += b[k];", "b[k] - x[i][k]"),
        ("acc -= x[i][k];", "acc -= b[k];", "-(x[i][k] + b[k])"),
    ] {
        let nest = |updates: &str| {
            format!(
                "#[dynamic_kernel] fn f(x: &[[f32; K]; M], b: &[f32; K], y: &mut [f32; M]) {{
                    for i in 0..M {{ let mut acc = 0.0; for k in 0..K {{ {updates} }} y[i] = acc; }} }}"
            )
        };
        let error = parse(&nest(&format!("{first} {second}"))).unwrap_err();
        let statement = error.split('`').nth(3).expect("a statement is quoted");
        let body = body(&nest(statement));
        assert!(body.contains(&format!("acc += {merged};")), "{statement}: {body}");
    }
}

#[test]
fn an_index_that_is_outside_at_every_shape_is_refused() {
    let nest = |types: &str, value: &str| {
        format!("#[dynamic_kernel] fn f({types}, y: &mut [f32; M]) {{ for i in 0..M {{ y[i] = {value}; }} }}")
    };
    for (types, value, place) in [
        ("x: &[[f32; 5]; M]", "x[i][7]", "index `7` of `x` reaches 7, where the extent is 5"),
        ("x: &[[f32; 5]; M]", "x[i][4] + x[i][5]", "index `5` of `x` reaches 5, where the extent is 5"),
        ("x: &[f32; M]", "x[i - 1]", "index `i - 1` of `x` reaches -1, where the extent is M"),
    ] {
        let (error, _) = refused(&nest(types, value));
        assert!(error.contains(place) && error.contains("outside at every shape"), "{error}");
    }
    let store = "#[dynamic_kernel] fn f(x: &[f32; M], y: &mut [f32; 3]) { for i in 0..4 { y[i] = x[0]; } }";
    assert!(refused(store).0.contains("index `i` of `y` reaches 3, where the extent is 3"));
    // What fits some shape is for a call to check, and what else is wrong is said first.
    for (types, value) in
        [("x: &[[f32; N]; M]", "x[i][7]"), ("x: &[f32; N]", "x[i + 1]"), ("x: &[f32; N]", "x[N - 1 - i]")]
    {
        parse(&nest(types, value)).unwrap();
    }
    let (error, _) = refused(&nest("x: &[[f32; 5]; M]", "x[i][7] + z"));
    assert!(error.contains("unknown name `z`"), "{error}");
}
