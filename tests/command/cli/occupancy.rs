//! `dietcode occupancy`.

use std::fs;

use serde_json::{Value, json};

use super::{Place, status, stderr, stdout};

#[test]
fn occupancy_agrees_with_a_table_or_says_where_not() {
    let place = Place::new();
    let table = include_str!("../../compiler/occupancy/nvidia.csv");
    let check = |text: &[u8]| {
        fs::write(place.path("rows.csv"), text).unwrap();
        let output = place.run(&["occupancy", "--csv", "rows.csv"]);
        (status(&output), stdout(&output), stderr(&output))
    };
    assert_eq!(check(table.as_bytes()), (0, "0 of 600 rows differ\n".into(), String::new()));
    // The columns may stand in any order, and others beside them.
    let shuffled = "blocks_per_sm,note, static_shared_bytes,registers_per_thread,threads_per_block,target\r\n0,x,49153,32,64,sm_90\r\n";
    assert_eq!(check(shuffled.as_bytes()).0, 0);

    let head = table.lines().next().unwrap();
    let (code, rows, _) =
        check(format!("{head}\nsm_100,256,128,0,2\nsm_80,256,128,0,3\nsm_80,1025,16,0,1\n").as_bytes());
    assert_eq!((code, rows.lines().count()), (1, 3), "{rows}");
    assert!(
        rows.contains("rows.csv:3: sm_80, 256 threads") && rows.contains("3 blocks; 2 fit, limited by registers"),
        "{rows}"
    );
    assert!(rows.contains("rows.csv:4: ") && rows.ends_with("2 of 3 rows differ\n"), "{rows}");

    let wrong = |text: &[u8], expected: &str| {
        let (code, _, said) = check(text);
        assert!(code == 2 && said.contains(expected), "{code} {said}");
    };
    wrong(b"", "rows.csv:1: the column `target` is missing");
    wrong(b"target,threads_per_block\nsm_80,1\n", "rows.csv:1: the column `registers_per_thread` is missing");
    wrong(format!("{head}\nsm_80,256,many,0,1\n").as_bytes(), "rows.csv:2: `registers_per_thread` is `many`");
    wrong(format!("{head}\n\nsm_80,-1,16,0,1\n").as_bytes(), "rows.csv:3: `threads_per_block` is `-1`");
    wrong(format!("{head}\r\nsm_80,1,16,0,32\r\nsm_80,1,x,0,1\r\n").as_bytes(), "rows.csv:3: ");
    wrong(format!("{head}\nsm_80,99999999999,16,0,1\n").as_bytes(), "rows.csv:2: `threads_per_block`");
    wrong(format!("{head}\nsm_81,1,16,0,1\n").as_bytes(), "rows.csv:2: `sm_81` is not a known CUDA device");
    wrong(format!("{head}\nsm_80,1,16\n").as_bytes(), "rows.csv:2: the row ends before the column");
    wrong(&[head.as_bytes(), b"\nsm_80,1,16,0,\xff\n"].concat(), "rows.csv:2: field 5 is not UTF-8");
    let folder = place.run(&["occupancy", "--csv", "."]);
    assert!(status(&folder) == 2 && stderr(&folder).contains("cannot read ."), "{}", stderr(&folder));
    assert_eq!(status(&place.run(&["occupancy", "--csv", "missing.csv"])), 2);
}

#[test]
fn occupancy_of_one_kernel() {
    let place = Place::new();
    let ask = |line: &str| place.run(&line.split(' ').collect::<Vec<_>>());
    let output = ask("occupancy --target sm_90 --threads 256 --registers 128 --shared 32768");
    let text = stdout(&output);
    assert_eq!(status(&output), 0);
    assert!(text.contains("2 blocks per multiprocessor, limited by registers; 16 of 64 warps"), "{text}");
    let left = ["32 ", "64 ", "65536", "233472"];
    assert!(left.iter().all(|number| text.contains(number)), "{text}");
    let output = ask("occupancy --target sm_75 --threads 256 --registers 32 --shared 65537");
    assert!(stdout(&output).contains("cannot be launched: shared memory"), "{}", stdout(&output));

    let printed = ask("occupancy --target sm_90 --threads 256 --registers 128 --shared 32768 --json -");
    assert!(status(&printed) == 0 && stderr(&printed).contains("2 blocks per multiprocessor"), "{}", stderr(&printed));
    let fit: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    assert_eq!(
        (&fit["target"], &fit["blocks_per_sm"], &fit["limiter"]),
        (&json!("sm_90"), &json!(2), &json!("registers"))
    );
    assert_eq!((&fit["warps"], &fit["warps_per_sm"]), (&json!(16), &json!(64)));
    let registers = json!({ "limit": "registers", "takes": 32768, "has": 65536, "allows": 2, "left": 0 });
    assert!(fit["limits"].as_array().unwrap().contains(&registers), "{fit}");
    let table = "target,threads_per_block,registers_per_thread,static_shared_bytes,blocks_per_sm\nsm_80,256,128,0,2\nsm_80,256,128,0,3\n";
    fs::write(place.path("rows.csv"), table).unwrap();
    let printed = ask("occupancy --csv rows.csv --json -");
    assert!(status(&printed) == 1 && stderr(&printed).contains("1 of 2 rows differ"), "{}", stderr(&printed));
    let differing =
        json!([{ "line": 3, "target": "sm_80", "blocks_per_sm": 3, "computed": 2, "limiter": "registers" }]);
    let checked: Value = serde_json::from_str(&stdout(&printed)).unwrap();
    assert_eq!(checked, json!({ "rows": 2, "differing": differing }));
    fs::remove_file(place.path("rows.csv")).unwrap();

    let unknown = ask("occupancy --target sm_42 --threads 256 --registers 32");
    assert!(status(&unknown) == 2 && stderr(&unknown).contains("sm_75, sm_80"), "{}", stderr(&unknown));
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 256")), 2);
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 0 --registers 32")), 2);
    assert_eq!(status(&ask("occupancy --target sm_80 --threads 256 --registers 0")), 2);
    assert_eq!(status(&ask("occupancy --csv rows.csv --target sm_80")), 2);
    let enormous = ask("occupancy --target sm_80 --threads 4294967295 --registers 4294967295 --shared 4294967295");
    assert_eq!(status(&enormous), 0, "{}", stderr(&enormous));
}
