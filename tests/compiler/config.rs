//! Config files: what is read, what every error says, and that the published schema agrees.

mod cuda;
mod errors;
mod families;
mod generators;
mod property;
mod reading;
mod rules;
mod schema;
mod sets;
mod shipped;

/// A config with all keys, to change one thing in.
pub(crate) const FULL: &str = r#"{
  "$schema": "schema.json",
  "comment": "all keys",
  "kernel": { "source": "../src/ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 768, "N": "2*(T + 1) - B" },
  "wkl_insts": [{ "T": 5, "B": 1 }, { "B": 2, "T": 24 }],
  "wkl_inst_weights": [1, 2.5], "range": { "T": [1, 512] }, "regret": { "mean": 1.02, "worst": 1.1 },
  "targets": {
    "cpu": {
      "march": "x86-64-v3",
      "generators": [
        {
          "family": "tiled",
          "comment": "one",
          "vector": ["j", null, "j"],
          "register_tile": [{ "i": 8, "j": 48 }, { "i": 6.0, "j": 64 }, { "j": 48, "i": 8 }],
          "block_tile": [{ "i": 512, "j": 96, "k": 384 }, {}],
          "pack": [["w"], [], ["x", "w"]],
          "order": [["i", "j"]]
        },
        { "family": "tiled" }
      ]
    }
  },
  "search": { "seconds": 1.5, "trials": 20, "seed": 7, "threads": [1, 2, 0], "tolerance": 0, "micro_kernels": 3,
    "strategy": "random", "evolution": { "population": 128, "mutation": 0.5, "mutators": { "split_k": 0.5, "unroll": 0 } }, "scheduler": { "beta": 1.5, "window": 5 },
    "rules": { "dense": "by_hand" },
    "model": "random", "weight": 2.5, "tf32": true, "structure": "SSRRS", "cache": "cold" }
}
"#;

/// The smallest config.
pub(crate) const SMALL: &str =
    r#"{"kernel": {"source": "ops.rs", "function": "f"}, "shape": {"N": 8}, "wkl_insts": [{}]}"#;
