//! Handles the reports of controllers: finds the artefacts of a report and wakes the changes that wait for it. A report
//! proves nothing by itself. A report without a known artefact is stored with the reason.

use jiff::{SignedDuration, Timestamp};

use crate::adapters::reports::disposition::ReportDisposition;
use crate::adapters::reports::{Report, ReportSender, ReportStatus};
use crate::adapters::store::{LedgerDetails, LedgerEntry, LedgerKind, StoreError, Transaction};
use crate::domain::model::actor::Actor;
use crate::domain::model::artefact::{Artefact, Place};
use crate::domain::runtime::attribution::{
    AppliedWorkload, Attribution, AttributionSubject, ControllerObject, ReportAttributor, UnmappedReason,
    UnmappedReport,
};

use crate::workflow::context::Context;

/// More reports than controllers send during a downtime, and few enough to read at a start.
const MAX_REPLAYED_REPORTS: u32 = 2000;

/// How long a report waits for the first read of the cluster, which may show the artefacts of the report.
const CLUSTER_READ_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// Loads the reports of earlier runs from the ledger. A controller sends each report once, and for some images a report
/// is the only source of the commit.
pub(crate) async fn replay_reports(ctx: &Context) -> Result<(), StoreError> {
    for entry in ctx.store.list_newest_entries(LedgerKind::Report, MAX_REPLAYED_REPORTS).await?.into_iter().rev() {
        // The stored artefacts are used: the cluster was not read yet, and may have changed since the report.
        let Some(LedgerDetails::Report { report, artefacts: stored_names, .. }) = entry.details else { continue };
        let Ok(report) = serde_json::from_value::<Report>(report) else { continue };
        let names = stored_names.or_else(|| Some(attribute_report(ctx, &report)?.ok()?.artefacts));
        let artefacts = names.iter().flatten().filter_map(|name| ctx.config.catalogue.find_artefact(name.as_str()));
        for artefact in artefacts.filter(|artefact| artefact.places.contains_key(&report.environment)) {
            ctx.report_history.record_report(artefact, &report, entry.at);
        }
    }
    Ok(())
}

/// Records a report in memory, wakes the changes that wait for it, and returns the transaction with the ledger entry.
/// `None`: the artefacts are not known, and the cluster, which may show them, was not read yet.
pub(crate) fn handle_report(
    ctx: &Context,
    report: &Report,
    received_at: Timestamp,
) -> Option<(Transaction, ReportDisposition)> {
    let now = ctx.clock.now();
    let result = attribute_report(ctx, report);
    if matches!(result, Some(Err(_)))
        && is_cluster_unread(ctx, report)
        && now.duration_since(received_at) < CLUSTER_READ_TIMEOUT
    {
        return None;
    }
    let mut attribution = None;
    let (extra, disposition) = match result {
        None => (Transaction::new(), ReportDisposition::Noise),
        Some(Ok(Attribution { artefacts, method })) => {
            for artefact in artefacts.iter().filter_map(|name| ctx.config.catalogue.find_artefact(name.as_str())) {
                ctx.report_history.record_report(artefact, report, now);
                if let Some(change) = ctx.open_changes.change_deploying_to(&artefact.name, &report.environment) {
                    ctx.open_changes.wake(change.id);
                }
            }
            attribution = Some((artefacts, method.as_str().to_owned()));
            let forget_unmapped = |object| {
                Transaction::new().forget_unmapped_reports(
                    report.environment.clone(),
                    report.sender.display_name(),
                    object,
                )
            };
            (find_reported_object(report).map_or_else(Transaction::new, forget_unmapped), ReportDisposition::Mapped)
        }
        Some(Err(reason)) => {
            let (environment, sender) = (&report.environment, report.sender.display_name());
            tracing::info!(%environment, sender, why = reason.code(), "a report matches no artefact");
            (
                Transaction::new().count_unmapped_report(build_unmapped_report(report, &reason, now)),
                ReportDisposition::Unmapped,
            )
        }
    };
    let (artefacts, method) = attribution.unzip();
    let report_body = serde_json::to_value(report).unwrap_or_default();
    let entry = LedgerEntry {
        at: now,
        change: None,
        kind: LedgerKind::Report,
        artefact: None,
        environment: Some(report.environment.clone()),
        actor: Some(Actor::Controller),
        details: Some(LedgerDetails::Report { report: report_body, artefacts, by: method }),
    };
    Some((Transaction::new().append_to_ledger(entry).append(extra), disposition))
}

/// The artefacts of a report. `None`: the report is noise.
fn attribute_report(ctx: &Context, report: &Report) -> Option<Result<Attribution, UnmappedReason>> {
    if report.outcome == ReportStatus::Noise {
        return None;
    }
    let applied = |artefact: &Artefact, place: &Place| -> AppliedWorkload {
        ctx.cluster_view.find_appliers(place, &artefact.image)
    };
    let attributor =
        ReportAttributor { catalogue: &ctx.config.catalogue, rules: &ctx.config.attribution_rules, applied: &applied };
    Some(attributor.attribute_report(&to_attribution_input(report)))
}

/// Whether a place of the report's environment was not read since the start.
fn is_cluster_unread(ctx: &Context, report: &Report) -> bool {
    let mut places =
        ctx.config.catalogue.artefacts.iter().filter_map(|artefact| artefact.places.get(&report.environment));
    places.any(|place| !ctx.cluster_view.has_been_read(place))
}

fn find_reported_object(report: &Report) -> Option<ControllerObject> {
    let target = &report.about;
    ControllerObject::new(&target.kind, &target.namespace, &target.name)
}

fn to_attribution_input(report: &Report) -> AttributionSubject<'_> {
    let target = &report.about;
    AttributionSubject {
        sender: report.sender.display_name(),
        naming_hint: describe_artefact_field(report.sender),
        environment: &report.environment,
        object: find_reported_object(report),
        artefact: target.artefact.as_deref(),
        images: &target.images,
        repository: target.repository.as_ref(),
    }
}

/// How people can name the artefact in the reports of this sender.
fn describe_artefact_field(sender: ReportSender) -> &'static str {
    match sender {
        ReportSender::Flux => "in the Alert's `eventMetadata`",
        ReportSender::ArgoCd => "by the label `gantry.dev/artefact` of the Application",
        ReportSender::GitHub => "in the deployment's payload",
        ReportSender::Deployments => "as `artefact` in the body",
        ReportSender::CdEvents => "in the event's `customData`",
    }
}

fn build_unmapped_report(report: &Report, reason: &UnmappedReason, at: Timestamp) -> UnmappedReport {
    let subject = to_attribution_input(report);
    UnmappedReport {
        environment: Some(report.environment.clone()),
        sender: report.sender.display_name().to_owned(),
        reason: reason.code().to_owned(),
        problem: reason.describe_problem(&subject),
        repair: reason.describe_repair(&subject),
        message: report.message.clone(),
        object: subject.object,
        at,
    }
}
