//! Named failures that a person or a test arms, and that the simulated services then show.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    MergeConflict,
    RedCheck,
    SlowRollout,
    CrashLoop,
    ImageMissing,
    #[serde(rename = "slack_429")]
    Slack429,
    SlackDown,
    #[serde(rename = "github_502")]
    Github502,
    GithubTimeoutAfterEffect,
    ClusterDown,
    LostWebhook,
    DuplicateWebhook,
}

impl Fault {
    pub const NAMES: [&'static str; 12] = [
        "merge_conflict",
        "red_check",
        "slow_rollout",
        "crash_loop",
        "image_missing",
        "slack_429",
        "slack_down",
        "github_502",
        "github_timeout_after_effect",
        "cluster_down",
        "lost_webhook",
        "duplicate_webhook",
    ];
}

/// A fault that is armed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArmedFault {
    pub fault: Fault,
    /// How often it will still strike.
    pub times: u32,
    pub artefact: Option<String>,
    pub environment: Option<String>,
}

/// The armed faults. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<ArmedFault>>>);

impl Faults {
    /// Arms `fault` for `times` strikes, only where artefact and environment match (`None` matches all).
    pub fn arm(&self, fault: Fault, times: u32, artefact: Option<String>, environment: Option<String>) {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        armed.push(ArmedFault { fault, times, artefact, environment });
    }

    /// In the order of arming.
    pub fn list_armed(&self) -> Vec<ArmedFault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether `fault` strikes here and now. If so, one of its times is used up.
    pub fn take_if_armed(&self, fault: Fault, artefact: Option<&str>, environment: Option<&str>) -> bool {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let matches = |wanted: &Option<String>, actual: Option<&str>| wanted.is_none() || wanted.as_deref() == actual;
        let Some(index) = armed
            .iter()
            .position(|a| a.fault == fault && matches(&a.artefact, artefact) && matches(&a.environment, environment))
        else {
            return false;
        };
        armed[index].times = armed[index].times.saturating_sub(1);
        if armed[index].times == 0 {
            armed.remove(index);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_fault() {
        for name in Fault::NAMES {
            let fault = serde_json::from_value::<Fault>(name.into()).unwrap();
            assert_eq!(serde_json::to_value(fault).unwrap(), name);
        }
        let all = serde_json::from_value::<Fault>("none".into()).unwrap_err().to_string();
        let names = Fault::NAMES.map(|name| format!("`{name}`")).join(", ");
        assert_eq!(all, format!("unknown variant `none`, expected one of {names}"), "and every fault has its name");
    }

    #[test]
    fn a_fault_strikes_only_where_armed_and_as_often_as_armed() {
        let faults = Faults::default();
        faults.arm(Fault::CrashLoop, 2, Some("checkout".to_owned()), None);
        assert!(!faults.take_if_armed(Fault::CrashLoop, Some("search"), Some("qa")));
        assert!(!faults.take_if_armed(Fault::SlackDown, Some("checkout"), None));
        assert!(faults.take_if_armed(Fault::CrashLoop, Some("checkout"), Some("qa")));
        assert_eq!(
            faults.list_armed().iter().map(|armed| (armed.fault, armed.times)).collect::<Vec<_>>(),
            [(Fault::CrashLoop, 1)]
        );
        assert!(faults.take_if_armed(Fault::CrashLoop, Some("checkout"), Some("prod")));
        assert!(!faults.take_if_armed(Fault::CrashLoop, Some("checkout"), Some("qa")));
        assert_eq!(faults.list_armed(), []);
    }
}
