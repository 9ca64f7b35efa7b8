//! The sizes of the CPU's data caches.

/// Bytes of the first-level data cache, the second level and the last level of the core this runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caches {
    pub(super) l1: i64,
    pub(super) l2: i64,
    pub(super) l3: i64,
}

/// What is assumed of a machine that does not say: small enough for any CPU with vector registers.
const MODEST: Caches = Caches { l1: 32 << 10, l2: 256 << 10, l3: 4 << 20 };

/// Reads what the operating system says, then what the CPU itself says. A hypervisor may hide either.
pub(super) fn detect() -> Caches {
    let found = [from_sysfs(), from_cpuid()].into_iter().flatten().next().unwrap_or_default();
    let level = |n: usize, modest: i64| if found[n] > 0 { found[n] } else { modest };
    let l2 = level(2, MODEST.l2);
    Caches { l1: level(1, MODEST.l1), l2, l3: level(3, l2.max(MODEST.l3)) }
}

/// Bytes of the last level of the core this runs on.
#[cfg(feature = "tuner")]
pub(crate) fn last_level() -> usize {
    usize::try_from(detect().l3).unwrap_or_default()
}

/// Bytes per level; entry 0 is unused, 0 stands for unknown.
type Levels = [i64; 4];

fn from_sysfs() -> Option<Levels> {
    let mut levels = Levels::default();
    for entry in std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?.flatten() {
        let read = |name: &str| std::fs::read_to_string(entry.path().join(name)).ok();
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else { continue };
        if kind.trim() == "Instruction" {
            continue;
        }
        if let (Some(slot), Some(bytes)) =
            (level.trim().parse().ok().and_then(|n: usize| levels.get_mut(n)), bytes(&size))
        {
            *slot = bytes;
        }
    }
    (levels[1] > 0).then_some(levels)
}

/// `"32K"`, `"32768K"`, `"8M"`, or a plain number of bytes.
fn bytes(text: &str) -> Option<i64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    digits.parse::<i64>().ok()?.checked_mul(1 << shift)
}

#[cfg(target_arch = "x86_64")]
fn from_cpuid() -> Option<Levels> {
    let mut levels = Levels::default();
    for cache in raw_cpuid::CpuId::new().get_cache_parameters()? {
        if cache.cache_type() == raw_cpuid::CacheType::Instruction {
            continue;
        }
        let size =
            cache.sets() * cache.associativity() * cache.coherency_line_size() * cache.physical_line_partitions();
        if let Some(slot) = levels.get_mut(usize::from(cache.level())) {
            *slot = i64::try_from(size).unwrap_or(0);
        }
    }
    (levels[1] > 0).then_some(levels)
}

#[cfg(not(target_arch = "x86_64"))]
fn from_cpuid() -> Option<Levels> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!(bytes("32K\n"), Some(32768));
        assert_eq!(bytes("8M"), Some(8 << 20));
        assert_eq!(bytes("512"), Some(512));
        assert_eq!(bytes(""), None);
        assert_eq!(bytes("K"), None);
    }

    #[test]
    fn a_machine_has_caches_that_grow_with_their_level() {
        let Caches { l1, l2, l3 } = detect();
        assert!(0 < l1 && l1 <= l2 && l2 <= l3, "{l1} {l2} {l3}");
    }
}
