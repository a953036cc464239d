{{/* Values that are derived from other values and from the configuration in them. */}}

{{- define "gantry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "gantry.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 55 | trimSuffix "-" -}}
{{- else if contains (include "gantry.name" .) .Release.Name -}}
{{- .Release.Name | trunc 55 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "gantry.name" .) | trunc 55 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gantry.selector" -}}
app.kubernetes.io/name: {{ include "gantry.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gantry.labels" -}}
{{ include "gantry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "gantry.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "gantry.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "gantry.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s:%s@%s" .Values.image.repository $tag .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/* The text of gantry.yaml. */}}
{{- define "gantry.configText" -}}
{{- if kindIs "string" .Values.config -}}
{{- .Values.config -}}
{{- else -}}
{{- toYaml .Values.config -}}
{{- end -}}
{{- end -}}

{{/* The configuration as JSON. Checks only the parts that the chart needs; Gantry itself validates the rest. */}}
{{- define "gantry.config" -}}
{{- $config := fromYaml (include "gantry.configText" .) -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "`config` is not YAML: %s" $config.Error) -}}
{{- end -}}
{{- range $list := list "environments" "artefacts" -}}
{{- $entries := get $config $list -}}
{{- if not (kindIs "slice" $entries) -}}
{{- fail (printf "`config` has no list of `%s`: run `gantry check` for details." $list) -}}
{{- end -}}
{{- range $entries -}}
{{- if not (kindIs "map" .) -}}
{{- fail (printf "`config.%s` has an entry without keys: run `gantry check` for details." $list) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{/*
Each place where an artefact runs: {context, namespace}, computed as in the code. An empty context is the kubeconfig's current
context, or this cluster without a kubeconfig.
*/}}
{{- define "gantry.places" -}}
{{- $config := fromJson (include "gantry.config" .) -}}
{{- $places := list -}}
{{- range $artefact := $config.artefacts -}}
{{- $exceptions := get $artefact "environments" | default dict -}}
{{- range $environment := $config.environments -}}
{{- $place := dict "context" (dig "cluster" "context" "" $environment) "namespace" (dig "cluster" "namespace" "" $environment) -}}
{{- $here := true -}}
{{- if and (hasKey $environment "name") (hasKey $exceptions (toString $environment.name)) -}}
{{- $here = get $exceptions (toString $environment.name) -}}
{{- end -}}
{{- if kindIs "map" $here -}}
{{- $place = dict "context" (get $here "context" | default $place.context) "namespace" (get $here "namespace" | default $place.namespace) -}}
{{- end -}}
{{- if and $here $place.namespace -}}
{{- $places = append $places $place -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $places -}}
{{- end -}}

{{/* The namespaces of this cluster that Gantry reads, as JSON. */}}
{{- define "gantry.namespaces" -}}
{{- $config := fromJson (include "gantry.config" .) -}}
{{- $byFile := or .Values.kubeconfig.existingSecret $config.kubeconfig -}}
{{- $namespaces := list -}}
{{- range fromJsonArray (include "gantry.places" .) -}}
{{- if .context -}}
{{- if not $byFile -}}
{{- fail (printf "The namespace `%s` is in the context `%s`, which needs a kubeconfig: set `kubeconfig.existingSecret`." .namespace .context) -}}
{{- end -}}
{{- else if or (not $byFile) $.Values.kubeconfig.currentContextIsThisCluster -}}
{{- $namespaces = append $namespaces .namespace -}}
{{- end -}}
{{- end -}}
{{- .Values.rbac.namespaces | default ($namespaces | uniq) | sortAlpha | toJson -}}
{{- end -}}

{{/* The required keys of `existingSecret`, as JSON. */}}
{{- define "gantry.secretKeys" -}}
{{- $keys := list "SLACK_BOT_TOKEN" (eq .Values.slack.mode "socket" | ternary "SLACK_APP_TOKEN" "SLACK_SIGNING_SECRET") -}}
{{- if eq .Values.github.auth "app" -}}
{{- $keys = concat $keys (list "GITHUB_APP_ID" "GITHUB_APP_PRIVATE_KEY" "GITHUB_APP_INSTALLATION_ID") -}}
{{- else -}}
{{- $keys = append $keys "GITHUB_TOKEN" -}}
{{- end -}}
{{- if .Values.github.webhooks -}}
{{- $keys = append $keys "GITHUB_WEBHOOK_SECRET" -}}
{{- end -}}
{{- range (fromJson (include "gantry.config" .)).environments -}}
{{- with dig "webhook_secret" "env" "" . -}}
{{- $keys = append $keys . -}}
{{- end -}}
{{- end -}}
{{- $keys | uniq | toJson -}}
{{- end -}}

{{/* Checks that the mounted files are those that the configuration names. */}}
{{- define "gantry.agree" -}}
{{- $config := fromJson (include "gantry.config" .) -}}
{{- $docker := dig "registry" "docker_config" "" $config -}}
{{- if and .Values.registry.dockerConfigSecret (ne $docker "/etc/gantry/docker/config.json") -}}
{{- fail "`registry.dockerConfigSecret` is mounted, but not used: add to `config`: `registry: { docker_config: /etc/gantry/docker/config.json }`." -}}
{{- end -}}
{{- if and .Values.kubeconfig.existingSecret $config.kubeconfig (ne (toString $config.kubeconfig) "/etc/gantry/kubeconfig") -}}
{{- fail "`kubeconfig.existingSecret` is mounted as /etc/gantry/kubeconfig, but `config` names another `kubeconfig`: remove one of them." -}}
{{- end -}}
{{- end -}}
