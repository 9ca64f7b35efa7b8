//! Ranges that start anywhere, output indices with offsets, and the nests that errors tell to write.

use dietcode_syntax::{KernelDef, bounds, scan};

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

/// A nest that is refused, with the range and the statement that the error tells to write in their places.
fn rewritten(source: &str, range: &str, statement: &str) -> String {
    let error = parse(source).unwrap_err();
    let quoted: Vec<&str> = error.split('`').skip(1).step_by(2).collect();
    let [found, _, write, with] = quoted[..] else { panic!("{error}") };
    assert!(source.contains(range) && source.contains(statement) && range.ends_with(found), "{error}");
    source.replace(range, write).replace(statement, with)
}

#[test]
fn what_a_triangular_range_tells_to_write_is_a_nest() {
    let lower = "#[dynamic_kernel] fn f(x: &[[f32; M]; M], y: &mut [f32; M]) {
        for i in 0..M { let mut acc = 0.0; for k in 0..i { acc += x[i][k]; } y[i] = acc; } }";
    assert_eq!(
        body(&rewritten(lower, "for k in 0..i", "acc += x[i][k];")),
        "for i in 0..M { let mut acc = 0.0; for k in 0..M { \
         acc += if (k as f32) < (i as f32) { x[i][k] } else { 0.0 }; } y[i] = acc; } }"
    );
    let upper = "#[dynamic_kernel] fn f(x: &[[f32; M]; M], y: &mut [[f32; M]; M]) {
        for i in 0..M { for j in i + 1..M { y[i][j] = x[i][j]; } } }";
    assert_eq!(
        body(&rewritten(upper, "for j in i + 1..M", "y[i][j] = x[i][j];")),
        "for i in 0..M { for j in 0..M - 1 { \
         y[i][j + 1] = if ((j + 1) as f32) >= ((i + 1) as f32) { x[i][j + 1] } else { y[i][j + 1] }; } } }"
    );
    let band = "#[dynamic_kernel] fn f(x: &[[f32; N]; M], y: &mut [f32; M]) {
        for i in 2..M { let mut acc = 0.0; for k in i - 2..=i { acc -= x[i][k] * 2.0; } y[i] = acc; } }";
    assert_eq!(
        body(&rewritten(band, "for k in i - 2..=i", "acc -= x[i][k] * 2.0;")),
        "for i in 0..M - 2 { let mut acc = 0.0; for k in 0..M { \
         acc += -(if (k as f32) >= (i as f32) { if (k as f32) <= ((i + 2) as f32) { x[i + 2][k] * 2.0 } else { 0.0 } } else { 0.0 }); \
         } y[i + 2] = acc; } }"
    );
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
