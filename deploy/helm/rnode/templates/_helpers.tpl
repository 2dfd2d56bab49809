{{- define "rnode.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "rnode.labels" -}}
app.kubernetes.io/name: rnode
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "rnode.selector" -}}
app.kubernetes.io/name: rnode
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .kind }}
{{- end -}}

{{- define "rnode.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- define "rnode.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The L1 endpoints of a program, as its variables. */}}
{{- define "rnode.l1" -}}
- name: {{ .prefix }}_L1_ETH_RPC
{{- with .root.Values.l1.existingSecret }}
  valueFrom: { secretKeyRef: { name: {{ . }}, key: url } }
{{- else }}
  value: {{ .root.Values.l1.url | quote }}
{{- end }}
{{- end -}}

{{- define "rnode.beacon" -}}
- name: RNODE_L1_BEACON
{{- with .Values.l1.existingSecret }}
  valueFrom: { secretKeyRef: { name: {{ . }}, key: beacon } }
{{- else }}
  value: {{ .Values.l1.beacon | quote }}
{{- end }}
{{- end -}}

{{/* Alive, and fit to be asked. rengine listens when its snapshot is complete, so the start has half a day. */}}
{{- define "rnode.probes" -}}
startupProbe:
  tcpSocket: { port: {{ .port }} }
  periodSeconds: 5
  failureThreshold: 8640
livenessProbe:
  httpGet: { path: /healthz, port: metrics-{{ .short }} }
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ .ready | quote }}, port: metrics-{{ .short }} }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end -}}

{{- define "rnode.secret" -}}
{{ .Values.jwt.existingSecret | default (printf "%s-jwt" (include "rnode.name" .)) }}
{{- end -}}
