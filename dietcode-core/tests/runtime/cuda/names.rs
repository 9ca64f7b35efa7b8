//! Devices as people write them.

use dietcode_core::runtime::cuda::{Device, DeviceName};
use dietcode_core::{ErrorKind, Result};
use proptest::prelude::*;

fn parse(text: &str) -> Result<DeviceName> {
    text.parse()
}

#[test]
fn the_four_kinds() {
    assert_eq!(parse("cpu").unwrap(), DeviceName::Cpu);
    assert_eq!(parse("cuda").unwrap(), DeviceName::Cuda(0));
    assert_eq!(parse("cuda:12").unwrap(), DeviceName::Cuda(12));
    assert_eq!(parse("cuda-host").unwrap(), DeviceName::CudaHost);
}

#[test]
fn what_is_wrong_is_said() {
    let unknown = parse("gpu").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Input);
    assert_eq!(
        unknown.to_string(),
        "there is no kind of device \"gpu\"; there are `cpu`, `cuda`, `cuda:<ordinal>` and `cuda-host`"
    );
    assert_eq!(
        parse("cuda:+1").unwrap_err().to_string(),
        "the device \"cuda:+1\" is malformed: after `cuda:` comes a number from 0 to 2147483647, but \"+1\" was found"
    );
    for text in
        ["", " cpu", "CPU", "cuda:", "cuda:-1", "cuda:1 ", "cuda:2147483648", "cuda: 1", "cuda:0x1", "cuda-host:0"]
    {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

proptest! {
    /// Whatever is written is a name that prints to a name of the same device, or an error that quotes it.
    #[test]
    fn any_text_is_a_name_or_a_good_error(text in prop_oneof![
        "(cuda|cpu|cuda-host|gpu)?[:-]?[-+ 0-9a-z]{0,12}",
        any::<String>(),
    ]) {
        match parse(&text) {
            Ok(name) => prop_assert_eq!(parse(&name.to_string()).unwrap(), name),
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::Input);
                let quoted = format!("{text:?}");
                prop_assert!(error.to_string().contains(&quoted), "{}", error);
            }
        }
    }

    #[test]
    fn ordinals_are_read(ordinal in 0..=i32::MAX as usize) {
        prop_assert_eq!(parse(&format!("cuda:{ordinal}")).unwrap(), DeviceName::Cuda(ordinal));
    }
}

#[test]
fn names_open_devices() {
    assert_eq!(Device::open(DeviceName::CudaHost).unwrap(), Device::cuda_host());
    assert_eq!(Device::open(DeviceName::Cpu).unwrap_err().kind(), ErrorKind::Input);
}
