//! Every target for a short while, the same inputs every time.

use std::time::Duration;

use pintle_fuzz::{Limits, Target, fuzz, targets};

/// Enough to go most ways; few enough for every run of the tests.
const LIMITS: Limits = Limits { runs: 20_000, time: Duration::from_secs(5), size: 1 << 14 };

#[test]
fn no_target_fails_on_what_it_is_fed() {
    for target in targets() {
        match fuzz(target, 1, LIMITS) {
            Ok(report) => assert!(report.ways > 3, "{} only goes {} ways", target.name, report.ways),
            Err(failure) => {
                panic!(
                    "{}: {} on {:?}",
                    target.name,
                    failure.message,
                    failure.input.escape_ascii().to_string()
                )
            }
        }
    }
}

/// A target with a fault deep in it, to see that such are found.
#[test]
fn a_fault_is_found() {
    fn run(input: &[u8]) -> u64 {
        let depth = input.iter().take_while(|byte| **byte == b'[').count();
        assert!(depth < 5, "too deep");
        depth as u64
    }
    let target = Target { name: "faulty", seeds: || vec![b"1".to_vec()], tokens: &["["], run };
    let failure = fuzz(target, 1, LIMITS).unwrap_err();
    assert!(failure.input.starts_with(b"[[[[["));
    assert_eq!(failure.message, "too deep");
}
