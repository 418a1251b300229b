package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/queue/authority"
	"github.com/shatterlab/shatter/pipeline/wording"
)

// clusterVariable is the environment variable that stands for --dir.
const clusterVariable = "SHATTER_CLUSTER"

func clusterCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Set up a secure cluster and issue its credentials",
		Long: `Set up NATS servers that encrypt and grant each role only the rights that it needs, and issue
credentials: files with the name and role of their holder, which may expire. The folder of a cluster
holds all keys: keep it where neither workers nor submitters can read it.

A worker's credentials let it lease jobs, fetch files, and publish results and heartbeats under its
own name. A submitter's allow submitting sweeps, and seeing and controlling all sweeps of the team.
A coordinator's, which shatter run --server requires as well, allow everything except running the
servers.

A cluster can serve several teams, which see nothing of each other: each has an account of its own
on the servers. shatter cluster coordinator NAME --team TEAM adds one.`,
	}
	c.AddCommand(clusterInitCommand(), clusterIssueCommand(queue.Worker), clusterIssueCommand(queue.Submitter),
		clusterIssueCommand(queue.Coordinator), clusterRenewCommand(), clusterRevokeCommand())
	return c
}

func clusterInitCommand() *cobra.Command {
	var o authority.Options
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Write server configurations and the first credentials",
		Long: `Make the folder DIR with all that a secure cluster needs: a folder for each server, with its
configuration, certificate and key; ca.pem, which every client needs; coordinator.creds and
submitter.creds; and all keys. shatter cluster worker NAME then issues credentials for each worker.

The certificates are signed by an authority of the cluster's own and are good for ten years. To use
others, replace cert.pem, key.pem and ca.pem in the servers' folders.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(o.Hosts) == 0 {
				o.Hosts = []string{"localhost"}
			}
			cluster, err := authority.Create(args[0], o)
			if err != nil {
				return err
			}
			return explainCluster(c, cluster)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&o.Hosts, "host", nil,
		"`name` or address of a server as clients reach it (one, or at least three; repeatable; default localhost)")
	addExpires(flags, &o.Expires)
	return c
}

// explainCluster prints the next steps for a new cluster.
func explainCluster(c *cobra.Command, cluster *authority.Cluster) error {
	dir := wording.ShellWord(cluster.Dir)
	w := c.ErrOrStderr()
	for _, host := range cluster.Hosts {
		fmt.Fprintf(w, "server on %s: copy %s there, and in it: nats-server -c nats.conf\n",
			host, wording.ShellWord(cluster.ServerDir(host)))
	}
	servers := "tls://" + strings.Join(cluster.Hosts, ":4222,tls://") + ":4222"
	fmt.Fprintf(w, "coordinator: shatter coordinator --server %s --tls-ca %[2]s/ca.pem "+
		"--creds %[2]s/coordinator.creds --dir sweeps\n"+
		"workers: shatter cluster worker NAME --dir %[2]s, and on its machine, with the file and ca.pem:\n"+
		"    shatter worker --server %[1]s --tls-ca ca.pem --creds NAME.creds\n", servers, dir)
	_, err := fmt.Fprintln(c.OutOrStdout(), cluster.Dir)
	return err
}

// explainReload prints how the servers get their new configurations.
func explainReload(c *cobra.Command, cluster *authority.Cluster) {
	for _, host := range cluster.Hosts {
		fmt.Fprintf(c.ErrOrStderr(), "server on %s: copy %s there, and: nats-server --signal reload\n", host,
			wording.ShellWord(filepath.Join(cluster.ServerDir(host), "nats.conf")))
	}
}

// changing makes c a command that changes the cluster in the folder of --dir.
func changing(
	c *cobra.Command, change func(c *cobra.Command, cluster *authority.Cluster, args []string) error,
) *cobra.Command {
	dir := ""
	c.Flags().StringVar(&dir, "dir", "",
		"`folder` of the cluster (default $"+clusterVariable+", or the working directory)")
	c.RunE = func(c *cobra.Command, args []string) error {
		cluster, err := authority.Open(c.Context(), cmp.Or(dir, os.Getenv(clusterVariable), "."))
		if err != nil {
			return err
		}
		defer cluster.Close()
		return change(c, cluster, args)
	}
	return c
}

// addExpires adds --expires.
func addExpires(flags *pflag.FlagSet, good *time.Duration) {
	addAge(flags, good, "expires", "validity `period` of the credentials, like 12h or 90d (default unlimited)")
}

func clusterIssueCommand(role queue.Role) *cobra.Command {
	var expires time.Duration
	var team string
	c := changing(&cobra.Command{
		Use:   string(role) + " NAME",
		Short: "Issue credentials for a " + string(role),
		Args:  cobra.ExactArgs(1),
	}, func(c *cobra.Command, cluster *authority.Cluster, args []string) error {
		_, known := cluster.Teams[team]
		path, err := cluster.Issue(args[0], team, role, expires)
		if err != nil {
			return err
		}
		if !known {
			explainReload(c, cluster)
		}
		_, err = fmt.Fprintln(c.OutOrStdout(), path)
		return err
	})
	if role == queue.Worker {
		c.Short = "Issue credentials for a worker, one file per process"
	}
	usage := "`name` of the holder's team"
	if role == queue.Coordinator {
		usage += "; a new team gets its own account on the servers"
	}
	c.Flags().StringVar(&team, "team", authority.FirstTeam, usage)
	addExpires(c.Flags(), &expires)
	return c
}

func clusterRenewCommand() *cobra.Command {
	var expires time.Duration
	c := changing(&cobra.Command{
		Use:   "renew NAME...",
		Short: "Renew the credentials of the given names",
		Long: `Issue new credentials to the given names, with the same rights. Copy them over the old file: running
processes read it again at each connection, so they need no restart when the old ones expire.`,
		Args: cobra.MinimumNArgs(1),
	}, func(c *cobra.Command, cluster *authority.Cluster, args []string) error {
		for _, name := range args {
			path, err := cluster.Renew(name, expires)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), path); err != nil {
				return err
			}
		}
		return nil
	})
	addExpires(c.Flags(), &expires)
	return c
}

func clusterRevokeCommand() *cobra.Command {
	return changing(&cobra.Command{
		Use: "revoke NAME", Short: "Revoke all credentials of a name", Args: cobra.ExactArgs(1),
	}, func(c *cobra.Command, cluster *authority.Cluster, args []string) error {
		err := cluster.Revoke(args[0])
		if err == nil {
			explainReload(c, cluster)
		}
		return err
	})
}
