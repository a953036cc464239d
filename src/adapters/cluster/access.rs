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
            tracing::error!(%error, "the chart's RBAC rules cannot be parsed");
            Vec::new()
        }
    };
    let mut permissions = Vec::new();
    for RbacRule { api_groups, resources, verbs } in &rules {
        for (group, resource) in
            api_groups.iter().flat_map(|group| resources.iter().map(move |resource| (group, resource)))
        {
            let permission = |verb: &String| ClusterPermission {
                group: group.clone(),
                resource: resource.clone(),
                verb: verb.clone(),
            };
            permissions.extend(verbs.iter().map(permission));
        }
    }
    permissions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_only_read_and_exclude_secrets_and_logs() {
        let permissions = list_required_permissions();
        assert_eq!(permissions.len(), 12, "{permissions:?}");
        assert_eq!(permissions[0].to_string(), "get deployments.apps");
        assert_eq!(permissions[11].to_string(), "list pods");
        assert!(
            permissions.iter().all(|permission| ["get", "list", "watch"].contains(&permission.verb.as_str())),
            "{permissions:?}"
        );
        assert!(
            permissions.iter().all(|permission| permission.resource != "secrets" && !permission.resource.contains('/')),
            "{permissions:?}"
        );
    }
}
