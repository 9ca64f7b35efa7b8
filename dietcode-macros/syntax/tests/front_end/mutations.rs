//! Nests with random tokens dropped, doubled, swapped and replaced: no text may make the front end panic, and whatever
//! it accepts must print as the same kernel.

use dietcode_syntax::{bounds, scan};
use proptest::prelude::*;

use crate::stack;

/// Nests that use all there is, in lexemes: the text between blanks.
const NESTS: [&str; 5] = [
    "# [ dynamic_kernel ( config = \"a.json\" ) ] fn dense ( x : & [ [ f32 ; K ] ; M ] , w : & [ [ f32 ; K ] ; N ] , \
     y : & mut [ [ f32 ; N ] ; M ] ) { for i in 0 .. M { for j in 0 .. N { let mut acc = 0.0 ; for k in 0 .. K { \
     acc += x [ i ] [ k ] * w [ j ] [ k ] ; } let v = acc + w [ j ] [ 0 ] ; y [ i ] [ j ] = if v > 0.0 { v } else { \
     let t = v . exp ( ) ; ( t - 1.0 ) . max ( - 1.0 ) } ; } } }",
    "# [ dynamic_kernel ] fn conv ( x : & [ [ f32 ; W + S - 1 ] ; C ] , k : & [ [ [ f32 ; S ] ; C ] ; O ] , \
     y : & mut [ [ f32 ; W ] ; O ] ) { for o in 0 .. O { for w in 0 .. W { for c in 0 .. C { for s in 0 .. S { \
     let at : usize = w + s ; y [ o ] [ w ] += x [ c ] [ at ] * k [ o ] [ c ] [ s ] ; } } } } }",
    "# [ dynamic_kernel ] fn map ( x : & [ f32 ; 2 * N - 1 ] , b : & [ f32 ; N ] , y : & mut [ f32 ; N ] ) { \
     for i in 0 .. N { let r = N - 1 - i ; y [ i ] = b [ r ] / 2.5e-3 + x [ 2 * i ] . abs ( ) . sqrt ( ) * ( i as f32 ) ; \
     y [ i ] -= y [ i ] * b [ i ] ; } }",
    "# [ dynamic_kernel ] fn rows ( x : & [ [ f32 ; 3 ] ; N ] , y : & mut [ f32 ; 3 ] ) { for k in 0 .. N { \
     for i in 0 .. 3 { y [ i ] -= x [ k ] [ i ] . min ( 0f32 ) ; } } }",
    "# [ dynamic_kernel ] fn gemv ( alpha : f32 , a : & [ [ f32 ; K ] ; M ] , beta : f32 , y : & mut [ f32 ; M ] ) { \
     for i in 0 .. M { let mut acc = 0.0 ; if alpha != 0.0 { for k in 0 .. K { acc += a [ i ] [ k ] ; } } \
     y [ i ] = if beta == 0.0 { alpha * acc } else { alpha * acc + beta * y [ i ] } ; } }",
];

/// What a token may be replaced by, beside all that stand in the nests.
const OTHERS: &str = "99999999999999999999 1e400 -0.0 0 \"s\" 'a' async unsafe move ! | || && ..= :: => ? % ^ <= == self \
                      else f16 dietcode_x int größe r#fn while loop break return match true _ @ $ <<= as bool vec! i64 #";

#[derive(Clone, Debug)]
enum Mutation {
    Drop(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Replace(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        1 => index().prop_map(Mutation::Drop),
        1 => index().prop_map(Mutation::Double),
        1 => (index(), index()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        4 => (index(), index()).prop_map(|(a, b)| Mutation::Replace(a, b)),
        1 => (index(), 0..40_usize).prop_map(|(a, times)| Mutation::Repeat(a, times)),
    ]
}

fn mutate(mut lexemes: Vec<&'static str>, mutations: &[Mutation]) -> String {
    let words: Vec<_> = NESTS.iter().chain([&OTHERS]).flat_map(|text| text.split_whitespace()).collect();
    for mutation in mutations {
        if lexemes.is_empty() {
            break;
        }
        let (at, len) = (|i: &prop::sample::Index| i.index(lexemes.len()), lexemes.len());
        match mutation {
            Mutation::Drop(i) => drop(lexemes.remove(at(i))),
            Mutation::Double(i) => lexemes.insert(at(i), lexemes[at(i)]),
            Mutation::Swap(i, j) => lexemes.swap(i.index(len), j.index(len)),
            Mutation::Replace(i, word) => lexemes[i.index(len)] = *word.get(&words),
            Mutation::Repeat(i, times) => {
                let (start, end) = (at(i), (at(i) + 5).min(len));
                let part = lexemes[start..end].to_vec();
                (0..*times).for_each(|_| drop(lexemes.splice(end..end, part.clone())));
            }
        }
    }
    lexemes.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    fn mutations(
        nest in prop::sample::select(&NESTS[..]),
        mutations in prop::collection::vec(mutation(), 0..6),
    ) {
        let source = mutate(nest.split_whitespace().collect(), &mutations);
        let Ok(found) = scan(&source) else { return Ok(()) };
        for annotated in found {
            match annotated.parse() {
                Err(errors) => prop_assert!(!errors.is_empty(), "an error without a sentence: {source}"),
                Ok(def) => {
                    bounds(&def);
                    let print = def.to_string();
                    let again = scan(&print).expect("the print is Rust")[0].parse();
                    prop_assert_eq!(again.expect("the print is a kernel"), def, "{}\n{}", source, print);
                }
            }
        }
    }
}

#[test]
fn nothing_panics_and_what_is_accepted_reads_back() {
    stack::run(mutations);
}
