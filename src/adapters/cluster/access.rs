//! The permissions that Gantry needs in a namespace. They are read from the chart's rules, so that code and chart
//! cannot differ.

use serde::Deserialize;

const RBAC_RULES: &str = include_str!("../../../deploy/helm/gantry/files/rules.yaml");

/// One kind of request to a cluster, as RBAC rules name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterPermission {
    /// Empty for the core group.
    pub group: String,
    pub resource: String,
    pub verb: String,
}

impl std::fmt::Display for ClusterPermission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RbacRule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

/// All permissions that Gantry needs in a namespace, in the order of the rules.
pub fn list_required_permissions() -> Vec<ClusterPermission> {
    let rules: Vec<RbacRule> = match serde_saphyr::from_str(RBAC_RULES) {
        Ok(rules) => rules,
        Err(error) => {
            tracing::error!(%error, "the rules of the chart cannot be read");
            Vec::new()
        }
    };
    let mut asks = Vec::new();
    for RbacRule { api_groups, resources, verbs } in &rules {
        for (group, resource) in api_groups.iter().flat_map(|group| resources.iter().map(move |one| (group, one))) {
            let ask = |verb: &String| ClusterPermission {
                group: group.clone(),
                resource: resource.clone(),
                verb: verb.clone(),
            };
            asks.extend(verbs.iter().map(ask));
        }
    }
    asks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_read_and_write_nothing_and_see_neither_secrets_nor_logs() {
        let asks = list_required_permissions();
        assert_eq!(asks.len(), 12, "{asks:?}");
        assert_eq!(asks[0].to_string(), "get deployments.apps");
        assert_eq!(asks[11].to_string(), "list pods");
        assert!(asks.iter().all(|ask| ["get", "list", "watch"].contains(&ask.verb.as_str())), "{asks:?}");
        assert!(asks.iter().all(|ask| ask.resource != "secrets" && !ask.resource.contains('/')), "{asks:?}");
    }
}
