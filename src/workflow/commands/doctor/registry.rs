//! Whether the registries let Gantry read the images, and still have those that run.

use std::collections::BTreeSet;

use futures::FutureExt;

use super::cluster::RunningImage;
use super::run::{DoctorRun, ProbeResult, ServiceFindings, format_list, join_all_bounded};
use crate::domain::doctor::Service;
use crate::domain::model::version::Image;

enum ImageUsage {
    /// The image runs. The registry does not have these versions of it.
    InUse { missing: Vec<String> },
    /// No workload is known to run the image.
    Unused { has_tags: bool },
}

pub(super) async fn check_registry(run: &DoctorRun<'_>, running: &[RunningImage<'_>]) -> ServiceFindings {
    let names: BTreeSet<&str> = run.doctor.config.catalogue.artefacts.iter().map(|it| &*it.image).collect();
    let usages = names.iter().map(|name| probe_image(run, name, running).boxed());
    let usages = join_all_bounded(usages).await;
    describe_images(names.into_iter().zip(usages))
}

async fn probe_image(run: &DoctorRun<'_>, name: &str, running: &[RunningImage<'_>]) -> ProbeResult<ImageUsage> {
    let registry = &run.doctor.registry;
    let images: Vec<&Image> = running.iter().map(|it| &it.image).filter(|image| &*image.name == name).collect();
    if images.is_empty() {
        let tags = run.limit_time(registry.list_tags(name)).await?;
        return Ok(ImageUsage::Unused { has_tags: !tags.is_empty() });
    }
    let digests = images.iter().map(|image| run.limit_time(registry.fetch_digest(image)).boxed());
    let mut missing = Vec::new();
    for (image, digest) in images.iter().zip(join_all_bounded(digests).await) {
        if digest?.is_none() {
            missing.push(image.to_version().label().to_owned());
        }
    }
    Ok(ImageUsage::InUse { missing })
}

fn describe_images<'a>(images: impl IntoIterator<Item = (&'a str, ProbeResult<ImageUsage>)>) -> ServiceFindings {
    let mut found = ServiceFindings::new(Service::Registry);
    let (mut present, mut unused) = (Vec::new(), Vec::new());
    for (image, usage) in images {
        match usage {
            Ok(ImageUsage::InUse { missing }) if missing.is_empty() => present.push(image),
            Ok(ImageUsage::InUse { missing }) => found.add_warning(
                format!("{image} runs as {}, which the registry does not have", format_list(&missing)),
                "Keep images that run: a new pod could not start, and a rollback to it would not be possible.",
            ),
            Ok(ImageUsage::Unused { has_tags: true }) => unused.push(image),
            Ok(ImageUsage::Unused { has_tags: false }) => {
                found.add_bad(
                    format!("The registry does not have {image}"),
                    "Correct `image`, or push the first image.",
                );
            }
            Err(error) => found.add_failure(
                format!("{image} cannot be read"),
                &error,
                "Add a login that may read it to `registry.docker_config`.",
            ),
        }
    }
    found.add_good_names(&present, |names| format!("The running images are in the registry: {names}"));
    found.add_good_names(&unused, |names| format!("The registry can be read, but no image runs yet: {names}"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::doctor::Health;

    #[test]
    fn an_image_counts_as_present_only_if_its_running_versions_were_looked_up() {
        let checks = describe_images([
            ("here", Ok(ImageUsage::InUse { missing: Vec::new() })),
            ("unused", Ok(ImageUsage::Unused { has_tags: true })),
            ("mistyped", Ok(ImageUsage::Unused { has_tags: false })),
            ("gone", Ok(ImageUsage::InUse { missing: vec!["1.2.3".to_owned()] })),
        ])
        .checks;
        let findings: Vec<_> = checks.iter().map(|check| (check.health, check.summary.as_str())).collect();
        let expected = [
            (Health::Bad, "The registry does not have mistyped"),
            (Health::Warning, "gone runs as 1.2.3, which the registry does not have"),
            (Health::Good, "The running images are in the registry: here"),
            (Health::Good, "The registry can be read, but no image runs yet: unused"),
        ];
        assert_eq!(findings, expected);
    }
}
