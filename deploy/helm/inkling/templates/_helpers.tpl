{{- define "inkling.labels" -}}
app.kubernetes.io/name: inkling
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "inkling.server" -}}
{ app.kubernetes.io/name: inkling, app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/component: server }
{{- end }}

{{- define "inkling.builder" -}}
{ app.kubernetes.io/name: inkling, app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/component: builder }
{{- end }}

{{- define "inkling.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "inkling.podSecurity" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "inkling.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "inkling.annotations" -}}
{{- with . }}
annotations: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "inkling.items" -}}
{{- range . }}
- {{ toJson . }}
{{- end }}
{{- end }}
