// Does the generated Go client submit a lead, list it, change it and opt its person out? It prints the answers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	leadclock "github.com/leadclock/client"
)

func must[T any](answer T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	token, number := os.Getenv("TOKEN"), os.Getenv("NUMBER")
	public, private, _ := strings.Cut(os.Getenv("KEY"), ":")
	settings := leadclock.NewConfiguration()
	settings.Servers = leadclock.ServerConfigurations{{URL: os.Getenv("BASE")}}
	leads := leadclock.NewAPIClient(settings).LeadsAPI
	auth := context.WithValue(
		context.Background(), leadclock.ContextBasicAuth, leadclock.BasicAuth{UserName: public, Password: private},
	)

	fields := leadclock.NewSubmitLeadFields(token)
	fields.SetCallerId(number)
	fields.SetTimeZone("America/New_York")
	fields.SetData(map[string]any{"first_name": "Ada"})
	submitted := must(leads.SubmitLead(auth).SubmitLeadFields(*fields).IdempotencyKey("go-1").Execute())
	listed := must(leads.ListLeads(auth).PerPage(10).Columns([]string{"id", "status"}).Execute())
	found := false
	for _, lead := range listed.Leads {
		found = found || lead.GetId() == submitted.Lead.GetId()
	}
	change := leadclock.NewUpdateLeadFields()
	change.SetEmail("ada@example.com")
	id := strconv.FormatInt(submitted.Lead.GetId(), 10)
	changed := must(leads.UpdateLead(auth, id).UpdateLeadFields(*change).Execute())
	stop := leadclock.NewCallerOptOutFields(token)
	optedOut := must(leads.CallerOptOut(auth, number).CallerOptOutFields(*stop).Execute())

	wrong := leadclock.NewSubmitLeadFields(token)
	wrong.SetCallerId("nobody")
	_, _, err := leads.SubmitLead(auth).SubmitLeadFields(*wrong).Execute()
	var refused *leadclock.GenericOpenAPIError
	if !errors.As(err, &refused) {
		panic("not refused")
	}
	problem := refused.Model().(leadclock.Problem)
	names := []string{}
	for name := range problem.Errors {
		names = append(names, name)
	}
	text, _ := json.Marshal(map[string]any{
		"listed": found,
		"total":  listed.Metadata.GetTotalCount(),
		"email":  changed.Lead.GetEmail(),
		"status": optedOut.Lead.GetStatus(),
		"code":   problem.Code,
		"fields": names,
	})
	fmt.Println(string(text))
}
