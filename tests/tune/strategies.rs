//! What proposals depend on.

use super::place::Place;

#[test]
fn the_same_seed_tries_the_same_candidates_in_the_same_order() {
    let order = |seed: &str| {
        let place = Place::new();
        place.tune(&["dense.json", "--trials", "5", "--seed", seed]);
        let mut trials: Vec<(u64, String)> = Vec::new();
        for record in place.records() {
            trials.push((record["trial"].as_u64().unwrap(), record["name"].to_string()));
        }
        trials.sort();
        trials.dedup();
        trials
    };
    let first = order("3");
    assert_eq!(first.len(), 5);
    assert_eq!(first, order("3"));
    assert_ne!(first, order("4"));
}
