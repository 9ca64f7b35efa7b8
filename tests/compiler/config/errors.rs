//! Every error says where, what was found, and what was expected.

use std::fs;

use dietcode_core::config::Config;

use super::{FULL, SMALL};

/// The error after replacing a part of the full config.
fn error(from: &str, to: &str) -> String {
    assert!(FULL.contains(from), "{from}");
    parse(FULL.replacen(from, to, 1))
}

fn parse(text: impl Into<Vec<u8>>) -> String {
    Config::parse("c.json", text).unwrap_err().to_string()
}

#[test]
fn values_of_the_wrong_kind_and_out_of_range() {
    let number = "expected a number greater than 0, at most 2592000";
    assert_eq!(error("1.5", "\"1\""), format!("c.json:25:26: key `search.seconds`: found the string \"1\", {number}"));
    assert_eq!(error("1.5", "0"), format!("c.json:25:26: key `search.seconds`: found 0, {number}"));
    assert_eq!(error("1.5", "1e999"), format!("c.json:25:26: key `search.seconds`: found 1e999, {number}"));
    assert_eq!(error("1.5", "1e300"), format!("c.json:25:26: key `search.seconds`: found 1e300, {number}"));
    assert_eq!(
        error("\"trials\": 20", "\"trials\": 0.5"),
        "c.json:25:41: key `search.trials`: found 0.5, expected a whole number from 1 to 9007199254740992"
    );
    assert_eq!(
        error("\"seed\": 7", "\"seed\": 9007199254740993"),
        "c.json:25:53: key `search.seed`: found 9007199254740993, expected a whole number from 0 to 9007199254740992"
    );
    assert_eq!(
        error("[1, 2, 0]", "[1, -2]"),
        "c.json:25:71: key `search.threads[1]`: found -2, expected a whole number from 0 to 1024"
    );
    assert_eq!(
        error("[1, 2, 0]", "[1, 1]"),
        "c.json:25:71: key `search.threads[1]`: found 1 a second time, expected each number of threads once"
    );
    assert_eq!(
        error("\"tolerance\": 0", "\"tolerance\": null"),
        "c.json:25:91: key `search.tolerance`: found null, expected a number from 0 to less than 1"
    );
    assert_eq!(
        error("\"micro_kernels\": 3", "\"micro_kernels\": 0"),
        "c.json:25:111: key `search.micro_kernels`: found 0, expected a whole number from 1 to 64"
    );
    assert_eq!(
        error("\"random\"", "\"greedy\""),
        "c.json:26:17: key `search.strategy`: found the string \"greedy\", expected one of \"evolution\", \"random\", \"enumerate\""
    );
    assert_eq!(
        error("\"model\": \"random\"", "\"model\": \"greedy\""),
        "c.json:28:14: key `search.model`: found the string \"greedy\", expected one of \"analytic\", \"learned\", \"random\""
    );
    for odd in ["3", "\"x2\"", "null"] {
        let tf32 = error("\"tf32\": true", &format!("\"tf32\": {odd}"));
        let found = if odd.starts_with('"') { format!("the string {odd}") } else { odd.to_owned() };
        assert_eq!(tf32, format!("c.json:28:47: key `search.tf32`: found {found}, expected true, false or \"x3\""));
    }
    assert_eq!(
        error("\"weight\": 2.5", "\"weight\": 0"),
        "c.json:28:34: key `search.weight`: found 0, expected a number from 1e-9 to 1e9"
    );
    assert_eq!(
        error("\"population\": 128", "\"population\": 0"),
        "c.json:26:56: key `search.evolution.population`: found 0, expected a whole number from 1 to 65536"
    );
    assert_eq!(
        error("\"mutation\": 0.5", "\"mutation\": 1.5"),
        "c.json:26:73: key `search.evolution.mutation`: found 1.5, expected a number from 0 to 1"
    );
    assert_eq!(
        error("\"split_k\": 0.5", "\"split_k\": 2"),
        "c.json:26:103: key `search.evolution.mutators.split_k`: found 2, expected a number from 0 to 1"
    );
    assert_eq!(
        error("\"split_k\"", "\"split\""),
        "c.json:26:92: key `search.evolution.mutators.split`: found an unknown key, expected one of tile_size, compute_location, split_k, thread_binding, unroll, choice, parallel; did you mean `split_k`?"
    );
    let none = "\"tile_size\": 0, \"compute_location\": 0, \"thread_binding\": 0, \"choice\": 0, \"parallel\": 0, \"split_k\": 0";
    assert_eq!(
        error("\"split_k\": 0.5", none),
        "c.json:26:90: key `search.evolution.mutators`: found an object, expected a mutator with a probability above 0"
    );
    assert_eq!(
        error("\"window\": 5", "\"windows\": 5"),
        "c.json:26:153: key `search.scheduler.windows`: found an unknown key, expected one of alpha, beta, window, epsilon; did you mean `window`?"
    );
    assert_eq!(
        error("768", "0"),
        "c.json:5:32: key `shape.K`: found 0, expected a whole number from 1 to 2147483648 or an expression such as \"16*T\""
    );
    assert_eq!(
        error("[1, 2.5]", "[1]"),
        "c.json:7:23: key `wkl_inst_weights`: found 1 weights, expected 2, one per instance"
    );
    assert_eq!(
        error("[1, 2.5]", "[1, -1]"),
        "c.json:7:27: key `wkl_inst_weights[1]`: found -1, expected a number from 1e-9 to 1e9"
    );
}

/// Sums and products of some would not be numbers, or be nothing.
#[test]
fn factors_that_overflow() {
    let expected = "expected a number from 1e-9 to 1e9";
    for odd in ["1e308", "1e10", "1e-300"] {
        let weights = error("[1, 2.5]", &format!("[1, {odd}]"));
        assert_eq!(weights, format!("c.json:7:27: key `wkl_inst_weights[1]`: found {odd}, {expected}"));
        let weight = error("\"weight\": 2.5", &format!("\"weight\": {odd}"));
        assert_eq!(weight, format!("c.json:28:34: key `search.weight`: found {odd}, {expected}"));
        let beta = error("\"beta\": 1.5", &format!("\"beta\": {odd}"));
        assert!(beta.ends_with(&format!("key `search.scheduler.beta`: found {odd}, {expected}")), "{beta}");
    }
}

#[test]
fn keys() {
    assert_eq!(
        error("\"seconds\"", "\"second\""),
        "c.json:25:15: key `search.second`: found an unknown key, expected one of seconds, trials, seed, threads, tolerance, micro_kernels, strategy, model, evolution, scheduler, weight, rules, tf32, structure, cache; did you mean `seconds`?"
    );
    assert_eq!(
        error("\"comment\": \"all keys\"", "\"zzz\": 1"),
        "c.json:3:3: key `zzz`: found an unknown key, expected one of $schema, comment, kernel, shape, wkl_insts, wkl_inst_weights, range, regret, targets, search"
    );
    assert_eq!(
        error("\"trials\": 20", "\"seconds\": 20"),
        "c.json:25:31: key `search.seconds`: found a second time, expected once"
    );
    assert_eq!(error("\"K\": 768", "\"M\": 768"), "c.json:5:27: key `shape.M`: found a second time, expected once");
    assert_eq!(
        parse("{\"shape\": {}}"),
        "c.json:1:1: the key `kernel` is missing, expected an object with `source` and `function`"
    );
    assert_eq!(
        error(", \"function\": \"dense\"", ""),
        "c.json:4:13: key `kernel`: the key `function` is missing, expected the name of a function"
    );
}

#[test]
fn ranges() {
    let of = |to: &str| error("{ \"T\": [1, 512] }", to);
    let number = "expected a whole number from 0 to 2147483648";
    let pair = "expected an array of the least and the largest value, such as [1, 512]";
    let all = "expected a range that contains all instances: from 5 or less to 24 or more";
    for (to, message) in [
        (
            "[1, 512]",
            "42: key `range`: found an array, expected an object from workload variables to ranges, such as {\"T\": [1, 512]}",
        ),
        (
            "{ \"t\": [1, 512] }",
            "49: key `range.t`: found the unknown workload variable `t`, expected one of `B`, `T`; did you mean `T`?",
        ),
        ("{ \"T\": 512 }", &format!("49: key `range.T`: found 512, {pair}")),
        ("{ \"T\": [] }", &format!("49: key `range.T`: found an array of 0, {pair}")),
        ("{ \"T\": [1, 5, 512] }", &format!("49: key `range.T`: found an array of 3, {pair}")),
        ("{ \"T\": [512, 1] }", "49: key `range.T`: found [512, 1], expected the least value first: [1, 512]"),
        ("{ \"T\": [1.5, 512] }", &format!("50: key `range.T[0]`: found 1.5, {number}")),
        ("{ \"T\": [1, \"512\"] }", &format!("53: key `range.T[1]`: found the string \"512\", {number}")),
        ("{ \"T\": [-1, 512] }", &format!("50: key `range.T[0]`: found -1, {number}")),
        ("{ \"T\": [6, 512] }", &format!("49: key `range.T`: found [6, 512], {all}")),
        ("{ \"T\": [1, 23] }", &format!("49: key `range.T`: found [1, 23], {all}")),
        ("{ \"T\": [0, 512] }", "49: key `range.T`: `M` = 16*T is 0 at T=0, expected from 1 to 2147483648"),
        (
            "{ \"T\": [1, 1000000000] }",
            "49: key `range.T`: `M` = 16*T is 16000000000 at T=1000000000, expected from 1 to 2147483648",
        ),
    ] {
        assert_eq!(of(to), format!("c.json:7:{message}"));
    }
}

#[test]
fn budgets_of_regret() {
    let of = |to: &str| error("{ \"mean\": 1.02, \"worst\": 1.1 }", to);
    let ratio = "expected a number greater than 1, at most 100: a ratio of times";
    for (to, message) in [
        (
            "{}",
            "71: key `regret`: found no bound, expected `mean`, `worst` or both, such as {\"mean\": 1.02, \"worst\": 1.1}",
        ),
        ("{ \"mean\": 0.98 }", &format!("81: key `regret.mean`: found 0.98, {ratio}")),
        (
            "{ \"mean\": 1.02, \"worst\": \"10%\" }",
            &format!("96: key `regret.worst`: found the string \"10%\", {ratio}"),
        ),
    ] {
        assert_eq!(of(to), format!("c.json:7:{message}"));
    }
}

#[test]
fn shapes_and_instances() {
    assert_eq!(
        error("16*T", "T*T"),
        "c.json:5:19: key `shape.M`: (T) * (T) is not affine, expected a number as factor"
    );
    assert!(error("16*T", "16*").ends_with("the expression ends, expected a number, a variable or `(`"));
    assert_eq!(
        error(", \"B\": 1", ""),
        "c.json:6:17: key `wkl_insts[0]`: the workload variable `B` is missing, expected it beside `T`"
    );
    assert_eq!(
        error("\"T\": 5, ", "\"t\": 5, \"T\": 5, "),
        "c.json:6:17: key `wkl_insts[0]`: found the unknown workload variable `t`, expected one of `B`, `T`; did you mean `T`?"
    );
    assert_eq!(
        error("\"T\": 5", "\"T\": 0"),
        "c.json:6:17: key `wkl_insts[0]`: `M` = 16*T is 0 at B=1,T=0, expected from 1 to 2147483648"
    );
    assert_eq!(
        error("{ \"B\": 2, \"T\": 24 }", "{ \"B\": 1, \"T\": 5 }"),
        "c.json:6:37: key `wkl_insts[1]`: found the same workload instance a second time, expected each once; its weight \
         says how much it counts"
    );
    assert!(error("16*T", "9223372036854775807*T").contains("is more than fits 64 bits at B=1,T=5"));
    assert!(error("[{ \"T\": 5, \"B\": 1 }, { \"B\": 2, \"T\": 24 }]", "[]").contains("found an empty array"));
}

#[test]
fn nothing_reaches_a_shell_or_a_c_file_unchecked() {
    for march in ["", "native -fplugin=x.so", "$(id)", "a;b", "a\\nb", "ünative", &"x".repeat(65)] {
        let message = error("x86-64-v3", march);
        assert!(message.contains("key `targets.cpu.march`: found the string"), "{message}");
        assert!(message.ends_with("of at most 64 letters, digits and . _ + -"), "{message}");
    }
    for name in ["", "a b", "a;b", "1a", "a\\u0000", "ä", "a-b", "a\\\"b", &"x".repeat(65)] {
        assert!(error("\"dense\"", &format!("\"{name}\"")).contains("key `kernel.function`: found"), "{name}");
        assert!(
            error("\"vector\": [\"j\"", &format!("\"vector\": [\"{name}\"")).contains("vector[0]`: found"),
            "{name}"
        );
        assert!(error("{ \"i\": 8,", &format!("{{ \"{name}\": 8,")).contains("found a key that is no identifier"));
        assert!(error("[[\"w\"]", &format!("[[\"{name}\"]")).contains("pack[0][0]`: found the string"), "{name}");
        assert!(error("[[\"i\", \"j\"]]", &format!("[[\"i\", \"{name}\"]]")).contains("order[0][1]`: found"), "{name}");
        assert!(error("\"K\": 768", &format!("\"{name}\": 768")).contains("found a key that is no identifier"));
    }
    for source in ["", "ops.c", "ops.rs\\ncargo:rustc-link-arg=x", "\\u0000.rs"] {
        assert!(error("../src/ops.rs", source).contains("expected a path to a Rust file (*.rs)"), "{source}");
    }
}

#[test]
fn generators() {
    assert!(error("\"tiled\"", "\"blocked\"").ends_with(
        "`targets.cpu.generators[0].family`: found the string \"blocked\", expected \"tiled\", or one of local, \
             non_local, non_local_interleaved, naive"
    ));
    assert!(error("\"tiled\"", "\"naive\"").contains("generators[0].vector`: found an unknown key, expected one of"));
    assert!(error("\"family\": \"tiled\",", "").contains("the key `family` is missing, expected \"tiled\""));
    assert!(
        error("\"i\": 8", "\"i\": 0")
            .contains("register_tile[0].i`: found 0, expected a whole number from 1 to 2147483648")
    );
    assert!(error("\"i\": 8", "\"i\": 2147483649").contains("register_tile[0].i`: found 2147483649"));
    assert!(error("6.0", "6.5").contains("register_tile[1].i`: found 6.5"));
    assert!(
        error("[\"j\", null, \"j\"]", "[]")
            .contains("vector`: found an empty array, expected an array of at least one value")
    );
    assert!(error("[\"x\", \"w\"]", "[\"x\", \"x\"]").contains("pack[2][1]`: found `x` a second time"));
    assert!(
        error("[[\"i\", \"j\"]]", "[\"i\"]").contains("order[0]`: found the string \"i\", expected an array of names")
    );
}

#[test]
fn dialects_of_json_are_errors() {
    assert_eq!(parse(""), "c.json:1:1: EOF while parsing a value");
    assert_eq!(parse("[]"), "c.json:1:1: found an array, expected an object");
    for text in [
        "{} // comment",
        "{/**/}",
        "{\"a\": 1,}",
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": 0x1}",
        "{\"a\": +1}",
        "{\"a\": .5}",
        "{\"a\": NaN}",
        "{\"a\": Infinity}",
        "{\"a\": 01}",
        "{\"a\" 1}",
        "{\"a\": 1 \"b\": 2}",
        "{} {}",
        "{\"a\": \"\n\"}",
        "{\"a\": \"\\x41\"}",
        "{\"a\": 1.}",
        "\u{feff}{}",
        "{",
        "\"",
        "nul",
    ] {
        let message = parse(text);
        assert!(message.starts_with("c.json:1:") || message.starts_with("c.json:2:"), "{text}: {message}");
    }
    assert_eq!(
        error("\"seed\": 7,", "\"seed\": 7,\n//\n"),
        "c.json:26:1: found a comment; JSON has none: there is the key `comment`"
    );
}

#[test]
fn deep_nesting_is_an_error() {
    for text in
        ["[".repeat(100_000), "{\"a\":".repeat(100_000), format!("{}{}", "[".repeat(90_000), "]".repeat(90_000))]
    {
        assert!(parse(text).starts_with("c.json:1:"));
    }
    let deep = format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(error("16*T", &deep).contains("nested more than 32 deep"));
}

#[test]
fn long_values_are_cut_in_messages() {
    let message = error("\"trials\": 20", &format!("\"trials\": \"{}\"", "y\\n".repeat(100_000)));
    assert!(message.len() < 200 && !message.contains('\n'), "{message}");
    assert!(error("\"zzz\"".replace("zzz", "comment").as_str(), &format!("\"{}\"", "z".repeat(1 << 20))).len() < 300);
}

#[test]
fn not_utf8() {
    let mut bytes = SMALL.replace(", \"shape\"", ",\n\"shape\"").into_bytes();
    let at = bytes.iter().position(|b| *b == b'N').unwrap();
    bytes[at] = 0xff;
    assert_eq!(parse(bytes), "c.json:2:12: found a byte that is not UTF-8");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &std::path::Path| Config::read(path).unwrap_err().to_string();
    let missing = folder.path().join("missing.json");
    assert!(error(&missing).starts_with(&format!("{}: cannot be read: ", missing.display())));
    assert_eq!(error(folder.path()), format!("{}: is not a file", folder.path().display()));
    let large = folder.path().join("large.json");
    fs::write(&large, vec![b' '; (16 << 20) + 1]).unwrap();
    assert_eq!(error(&large), format!("{}: is larger than 16 MiB, the largest config there can be", large.display()));
    let good = folder.path().join("good.json");
    fs::write(&good, SMALL).unwrap();
    let config = Config::read(&good).unwrap();
    assert_eq!(config.kernel.source, folder.path().join("ops.rs"));
    fs::create_dir(folder.path().join("ops.rs")).unwrap();
    let error = config.kernel_def().unwrap_err().to_string();
    assert!(error.contains("key `kernel.source`: ") && error.ends_with("ops.rs is not a file"), "{error}");
}

#[test]
fn what_other_dialects_have_is_told_in_plain_words() {
    for (text, error) in [
        ("\u{feff}{}", "1:1: found a byte order mark, expected JSON; save the file as UTF-8 without one"),
        ("{\"a\": NaN}", "1:7: found what is no number of JSON: it has no NaN and no infinity"),
        ("{\"a\": -Infinity}", "1:8: found what is no number of JSON: it has no NaN and no infinity"),
        ("{\"é\": [1,\n 2,]}", "2:4: found a comma before the end, expected one only between elements"),
        ("{\"a\": 1,\n}", "2:1: found a comma before the end, expected one only between elements"),
        ("{\"a\": 1 // b\n}", "1:9: found a comment; JSON has none: there is the key `comment`"),
        ("{'a': 1}", "1:2: found a single quote; strings stand in double quotes"),
        ("{\"é\": True}", "1:7: found a word of Python; JSON has true, false and null"),
        ("{\"a\": .5}", "1:7: found what begins no number of JSON, such as `0.5` or `-2`"),
        ("{\"a\": 1} 2", "1:10: trailing characters"),
        ("{\"a\": ", "1:6: EOF while parsing a value"),
        ("é", "1:1: expected value"),
    ] {
        assert_eq!(parse(text), format!("c.json:{error}"), "{text}");
    }
}
