{{- $pages := slice -}}
{{- range site.Pages -}}
  {{- if .Params.source -}}
    {{- $url := cond .IsHome "index.html" (strings.TrimPrefix "/" .RelPermalink) -}}
    {{- $title := .Title -}}
    {{- $pages = $pages | append (dict "title" $title "url" $url "text" (lower .Plain)) -}}
    {{- range $id, $heading := .Fragments.HeadingsMap -}}
      {{- $pages = $pages | append (dict "title" (printf "%s (%s)" $heading.Title $title) "url" (printf "%s#%s" $url $id) "text" "") -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
const pages = {{ $pages | jsonify }}
