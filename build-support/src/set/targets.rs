//! For what a set is compiled.

use dietcode_core::codegen::set::DEFAULT_CAPABILITIES;
use dietcode_core::config::KernelSet;
use dietcode_core::machine::cuda::ComputeCapability;
use dietcode_core::{Error, Result};

use crate::environment::{Environment, TARGETS};
use crate::report::Report;

/// For what configurations were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) cpu: bool,
    pub(super) cuda: bool,
    pub(super) cuda_host: bool,
    /// The devices, also those that the emulated one stands for.
    pub(super) capabilities: Vec<ComputeCapability>,
}

impl Asked {
    /// What the user asks for, or else the set; one that says nothing is for the CPU.
    pub(super) fn of(set: &KernelSet, environment: &Environment, report: &mut Report) -> Result<Asked> {
        report.rerun_if_env_changed(TARGETS);
        let mut asked = match &environment.targets {
            Some(list) => Asked::parse(list)?,
            None => {
                let cuda = !set.capabilities.is_empty();
                Asked { cpu: set.march.is_some() || !cuda, cuda, ..Asked::default() }
            }
        };
        let named = if set.capabilities.is_empty() { DEFAULT_CAPABILITIES } else { &set.capabilities };
        asked.capabilities = named.to_vec();
        Ok(asked)
    }

    fn parse(list: &str) -> Result<Asked> {
        let mut asked = Asked::default();
        for name in list.split(',').map(str::trim) {
            match name {
                "cpu" => asked.cpu = true,
                "cuda" => asked.cuda = true,
                "cuda-host" => asked.cuda_host = true,
                other => {
                    return Err(Error::input(format!(
                        "{TARGETS}: `{other:.40}` is no target: expected some of cpu, cuda and cuda-host, with commas between them"
                    )));
                }
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_listed_with_commas() {
        let all = Asked { cpu: true, cuda: true, cuda_host: true, ..Asked::default() };
        assert_eq!(Asked::parse("cuda-host, cpu,cuda").unwrap(), all);
        assert_eq!(Asked::parse("cuda").unwrap(), Asked { cuda: true, ..Asked::default() });
        for wrong in ["", "cpu,", "CPU", "cpu cuda", "gpu"] {
            let error = Asked::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("expected some of cpu, cuda and cuda-host"), "{error}");
        }
    }
}
