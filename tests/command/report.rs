//! `dietcode report`: the page as a browser shows it.

mod browser;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use dietcode::core::sketch::MicroKernel;
use serde_json::{Value, json};

use self::browser::Browser;
use crate::records::{Place, crashed, measured, records, stderr};

/// Whether a page has asked for nothing but itself, and has said nothing in the console.
fn is_quiet(browser: &Browser, page: &Path) {
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
}

/// The texts of all elements of a selector.
fn texts(browser: &mut Browser, selector: &str) -> Vec<String> {
    let all = browser.value(&format!("[...document.querySelectorAll({selector:?})].map((one) => one.textContent)"));
    serde_json::from_value(all).unwrap()
}

/// The page of a search that has left `dense.cpu.records.jsonl`, its tuned file and a comparison with libraries, `rows.json`, in a folder.
pub(crate) fn is_drawn(folder: &Path, tuned: &Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    let figures = with_all_libraries(folder);
    fs::write(folder.join("all.json"), figures.to_string()).unwrap();
    command.args(["report", "dense.cpu.records.jsonl", "--bench", "all.json", "-o", "page.html"]).current_dir(folder);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    let page = folder.join("page.html");
    let browser = &mut Browser::open(&page);
    let sections = [
        "Verdicts",
        "Best so far",
        "Throughput over shape",
        "Regret",
        "Predicted against measured",
        "Failures",
        "Provenance",
    ];
    assert_eq!(texts(browser, "section > h2"), sections);

    let micro_kernel = |n: usize| tuned["instances"][n]["micro_kernel"].as_str().unwrap();
    let names = texts(browser, "#k0s0 tbody button .name");
    assert_eq!(names, [micro_kernel(0), micro_kernel(1)], "at one thread");
    assert_eq!(texts(browser, "#k0s0 tbody td:first-child"), ["M=16", "M=64"]);
    let libraries = texts(browser, "#k0s0 thead th");
    assert!(["naive", "matrixmultiply"].iter().all(|name| libraries.iter().any(|head| head == name)), "{libraries:?}");
    for chart in ["#k0s1 polyline", "#k0s2 path.point", "#k0s3 td.heat.used", "#k0s4 path.point"] {
        assert!(browser.value(&format!("document.querySelector('{chart}') !== null")) == true, "{chart}");
    }
    let regret = format!("{:.3}", tuned["regret"]["worst"].as_f64().unwrap());
    assert!(texts(browser, "#k0s3").concat().contains(&format!("{regret} at worst")), "{regret}");

    // What a click shows is the micro-kernel that the button names.
    assert_eq!(browser.value("document.getElementById('panel').open"), false);
    browser.click("#k0s0 tbody button");
    assert_eq!(browser.value("document.getElementById('panel').open"), true);
    assert_eq!(texts(browser, "#panel h2"), [micro_kernel(0)]);
    let all: Vec<MicroKernel> = serde_json::from_value(tuned["micro_kernels"].clone()).unwrap();
    let expected = all.iter().find(|known| known.name() == micro_kernel(0)).unwrap();
    assert_eq!(texts(browser, "#panel .trace pre"), [expected.trace.to_string()]);
    let source = texts(browser, "#panel .source pre").concat();
    assert!(source.starts_with(&format!("/* Micro-kernel `{}` of `dense`", micro_kernel(0))), "{source}");
    browser.click("#panel .close");
    assert_eq!(browser.value("document.getElementById('panel').open"), false);
    browser.click("#k0s2 path.point");
    assert_eq!(browser.value("document.getElementById('panel').open"), true);
    browser.click("#panel .close");

    // The second click on a column's head sorts the other way round.
    browser.click("#k0s0 thead th");
    browser.click("#k0s0 thead th");
    assert_eq!(texts(browser, "#k0s0 tbody td:first-child"), ["M=64", "M=16"]);

    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(background);
    browser.call(
        "Emulation.setEmulatedMedia",
        &json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] }),
    );
    assert_ne!(browser.value(background), light);
    let narrow = json!({ "width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", &narrow);
    let hidden = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.value(hidden), 0, "tables scroll by themselves");
    is_quiet(browser, &page);
    figures_of_libraries_are_told_apart(folder, figures);
}

/// The comparison, with figures where others took the cores, and for instances that there was no time to compare.
fn with_all_libraries(folder: &Path) -> Value {
    let mut figures: Value = serde_json::from_str(&fs::read_to_string(folder.join("rows.json")).unwrap()).unwrap();
    let rows = figures["rows"].as_array_mut().unwrap();
    for (library, t) in ["naive", "matrixmultiply"].into_iter().flat_map(|library| [(library, 1), (library, 4)]) {
        if !rows.iter().any(|row| row["impl"] == library && row["wkl"]["T"] == t) {
            rows.push(
                json!({ "wkl": { "T": t }, "threads": 1, "impl": library, "gflops_median": 1.0, "gflops_iqr": 0.1,
                "rel_err": 0.0, "kernel": null }),
            );
        }
    }
    figures
}

/// What `--bench` leaves out is told.
fn figures_of_libraries_are_told_apart(folder: &Path, mut figures: Value) {
    let bench = |figures: &Value| {
        fs::write(folder.join("changed.json"), figures.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.args(["report", "dense.cpu.records.jsonl", "--bench", "changed.json", "-o", "other.html"]);
        command.current_dir(folder).output().unwrap()
    };
    let rows = figures["rows"].as_array_mut().unwrap();
    let library = rows.iter().find(|row| row["impl"] == "naive").unwrap().clone();
    rows.extend((0..9).map(|n| {
        let mut row = library.clone();
        row["impl"] = format!("zzz{n}").into();
        row
    }));
    let output = bench(&figures);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("left out, beyond 8 libraries: "), "{}", stderr(&output));
    figures["rows"].as_array_mut().unwrap().iter_mut().for_each(|row| row["threads"] = 77.into());
    let output = bench(&figures);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("found no figure of a library"), "{}", stderr(&output));
}

fn report(place: &Place, arguments: &[&str]) -> Output {
    place.dietcode("report", arguments)
}

/// What a record says is text, wherever it stands.
#[test]
fn text_of_records_does_nothing_to_a_page() {
    let place = Place::new();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onclick=\"alert(3)\u{1b}[2J";
    let mut records = vec![measured("slow", 64, 0, 10.0), measured("fast", 64, 1, 40.0), crashed("bad", 2)];
    for record in &mut records {
        for place in
            ["/workload/kernel", "/target/cpu", "/target/compiler", "/run", "/space_hash", "/schedule/origin/family"]
        {
            *record.pointer_mut(place).unwrap() = hostile.into();
        }
    }
    records[2]["outcome"]["failed"]["message"] = hostile.into();
    for record in &mut records[..2] {
        record["workload"]["shape"] = json!({ hostile: 64 });
    }
    place.write("a.jsonl", &records);
    let output = report(&place, &["a.jsonl", "-o", "page.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
    let page = place.path("page.html");
    let browser = &mut Browser::open(&page);
    assert_eq!(browser.value("document.querySelectorAll('script, img, [onclick]').length"), 2, "its own scripts");
    assert!(texts(browser, "h1").concat().contains("<img src=x onerror=alert(2)>"));
    browser.click("#k0s0 tbody button");
    assert!(texts(browser, "#panel").concat().contains("</script><script>alert(1)</script>"));
    assert!(texts(browser, "article").concat().contains("crashed: SIGSEGV"));
    is_quiet(browser, &page);
}

#[test]
fn what_no_page_can_be_made_of_is_told() {
    let place = Place::new();
    place.write("a.jsonl", &records());
    let refuse = |status: i32, arguments: &[&str], why: &str| {
        let output = report(&place, &[arguments, &["-o", "page.html"]].concat());
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(!place.path("page.html").exists());
    };
    for (name, text) in [("empty", "[]"), ("none", ""), ("figures.json", "{}")] {
        fs::write(place.path(name), text).unwrap();
    }
    refuse(2, &["missing.jsonl"], "missing.jsonl: cannot be read as records: No such file");
    refuse(2, &["empty"], "empty: found none, expected tuning records");
    refuse(2, &["none"], "none: found no records, expected those of a search");
    refuse(2, &["a.jsonl", "a.jsonl"], "a.jsonl: found a second time");
    refuse(2, &["a.jsonl", "--bench", "gone.json"], "--bench gone.json: cannot be read: No such file");
    refuse(2, &["a.jsonl", "--bench", "figures.json"], "expected JSON as `dietcode bench --json` writes it");
    let output = report(&place, &["a.jsonl", "-o", "no/folder/page.html"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // A page takes the place of no records and of no config.
    fs::copy(place.path("a.jsonl"), place.path("records")).unwrap();
    for output in ["records", "figures.json"] {
        let before = fs::read(place.path(output)).unwrap();
        let refused = report(&place, &["records", "-o", output]);
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains("would be lost"), "{}", stderr(&refused));
        assert_eq!(fs::read(place.path(output)).unwrap(), before);
    }

    // Records of another format are passed over with a line; without a config, the page holds what records do, and says what is missing.
    let torn =
        format!("{}\n{{\"format\":3}}\n{}\n{{\"format\":6,\"wor", measured("a", 64, 0, 1.0), measured("b", 64, 1, 2.0));
    fs::write(place.path("torn.jsonl"), torn).unwrap();
    let output = report(&place, &["torn.jsonl", "-o", "page.html"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for line in
        ["torn.jsonl: 1 line is no record of format 7", "the last line was torn", "found no config beside the records"]
    {
        assert!(said.contains(line), "{said}");
    }
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("found no config beside the records") && !page.contains("Predicted against measured"));
}

#[test]
fn figures_that_cannot_be_compared_stand_apart() {
    let place = Place::new();
    let mut all = [measured("cold", 64, 0, 900.0), measured("warm", 64, 1, 40.0), measured("model", 64, 2, 30.0)];
    all[0]["outcome"]["measured"]["cache"] = "cold".into();
    all[2]["estimated"] = true.into();
    let [unknown, failed] = [3, 4].map(|trial| crashed("bad", trial));
    let mut unknown = unknown;
    unknown["outcome"] = json!({ "unknown": { "threads": 1, "clean": 1, "asked": 9 } });
    for name in ["one", "other"] {
        place.write(&format!("{name}.cpu.records.jsonl"), &[&all[..], &[unknown.clone(), failed.clone()]].concat());
        fs::write(place.path(&format!("{name}.json")), "{}").unwrap();
    }
    let output = report(&place, &["one.cpu.records.jsonl", "other.cpu.records.jsonl", "-o", "page.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("left out: 1 figure, for which the caches were not"), "{}", stderr(&output));
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert_eq!(page.matches("<article").count(), 2, "each config has its own tuned file");
    for said in ["since no such device was there: 1 of 2 figures", "<b>2</b><span>failures</span>"] {
        assert_eq!(page.matches(said).count(), 2, "{said}: {page}");
    }
    assert!(!page.contains("900"), "{page}");
}

/// Of ten times as many records, the page has a few more points.
#[test]
fn pages_of_many_records_are_bounded() {
    let place = Place::new();
    let record = |n: u64| measured(&format!("a{n}"), 64 + (n % 8) as i64, n, 10.0 + (n * 37 % 1000) as f64);
    let size = |count: u64| {
        place.write("a.jsonl", &(0..count).map(record).collect::<Vec<_>>());
        let output = report(&place, &["a.jsonl", "-o", "page.html"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::metadata(place.path("page.html")).unwrap().len()
    };
    let (few, many) = (size(500), size(5000));
    assert!(few > 10_000 && many < 2_000_000, "{few} {many}");
}
