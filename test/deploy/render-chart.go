// render-chart.go: a Helm chart's objects, as Helm renders them: its template functions are Go's and Sprig's.
//
// usage  render-chart CHART RELEASE VALUES      a folder, a name, values as YAML in place of the chart's own
// out    YAML documents
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) map[string]interface{} {
	bytes, err := os.ReadFile(path)
	must(err)
	var found map[string]interface{}
	must(yaml.Unmarshal(bytes, &found))
	return found
}

func merge(into, from map[string]interface{}) {
	for name, value := range from {
		inner, isMap := into[name].(map[string]interface{})
		more, isAlso := value.(map[string]interface{})
		if isMap && isAlso {
			merge(inner, more)
		} else {
			into[name] = value
		}
	}
}

func main() {
	chart, release := os.Args[1], os.Args[2]
	values := read(filepath.Join(chart, "values.yaml"))
	var given map[string]interface{}
	must(yaml.Unmarshal([]byte(os.Args[3]), &given))
	merge(values, given)
	about := map[string]interface{}{}
	for name, value := range read(filepath.Join(chart, "Chart.yaml")) {
		about[strings.ToUpper(name[:1])+name[1:]] = value
	}
	root := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["toJson"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	root.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		template.Must(root.New(filepath.Base(file)).Parse(string(text)))
	}
	data := map[string]interface{}{
		"Values":  values,
		"Chart":   about,
		"Release": map[string]interface{}{"Name": release, "Namespace": "default", "Service": "Helm"},
	}
	for _, file := range files {
		name := filepath.Base(file)
		var text bytes.Buffer
		must(root.ExecuteTemplate(&text, name, data))
		if filepath.Ext(name) == ".yaml" {
			fmt.Printf("---\n%s\n", text.String())
		}
	}
}
