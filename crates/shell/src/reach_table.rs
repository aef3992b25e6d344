//! Table of commands that need more than the sandbox allows, one row each. Whatever is not listed is no risk
//! within a sandbox: it works on a state that is judged before any of it is kept. To refuse another command
//! early, add a row, and a case to `tests/cases/commands-in-sandbox.yml`.

use super::reach::{Reach, Row};

const fn row(names: &'static str, reach: Reach) -> Row {
    Row { names, reach, words: "", except: "", options: "", values: "", tasks: false }
}

impl Row {
    /// Limits the row to these sub-commands.
    const fn by(self, words: &'static str) -> Self {
        Self { words, ..self }
    }

    /// Limits the row to these tasks, at whatever position.
    const fn tasks(self, words: &'static str) -> Self {
        Self { words, tasks: true, ..self }
    }

    const fn except(self, except: &'static str) -> Self {
        Self { except, ..self }
    }

    const fn with(self, options: &'static str) -> Self {
        Self { options, ..self }
    }

    const fn values(self, values: &'static str) -> Self {
        Self { values, ..self }
    }
}

const GIT: &str = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix";
const NODE: &str = "-C -w -F --prefix --workspace --cwd --dir --filter --registry --loglevel --cache --userconfig --otp --tag --scope";
const PYTHON: &str =
    "-C -P --directory --project --config-file --cache-dir --python --log --proxy --env --index-url";
const CARGO: &str = "--manifest-path --config --color --target-dir -Z -C --registry --index --token";
const RUBY: &str = "-C -f --rakefile --gemfile --config-file -I -r --key --host";
const JAVA: &str = "-f --file -s --settings -gs --global-settings -P --activate-profiles -pl --projects -rf --resume-from -T --threads \
                    -l --log-file -t --toolchains -D --define -b --build-file -c --settings-file -p --project-dir -g \
                    --gradle-user-home -I --init-script -x --exclude-task --tests --max-workers --console --project-prop";
const CLOUD: &str = "--profile --region --project --account --context --namespace -n --kubeconfig --kube-context --config --app -a \
                     --token --cwd -f --host -H -l --log-level -c --cluster --stage --scope --chdir";

use Reach::{Daemon, Deploy, Install, Network, Publish, Push, System};

pub(super) static ROWS: &[Row] = &[
    // The repository's host.
    row("git", Push)
        .by("push fetch pull clone ls-remote send-pack fetch-pack http-push http-fetch submodule+add submodule+update \
             submodule+sync remote+add remote+set-url remote+update remote+show remote+prune remote+rename send-email svn p4 daemon \
             credential credential-store credential-cache instaweb request-pull lfs+push lfs+fetch lfs+pull lfs+clone annex subtree+push \
             subtree+pull subtree+add imap-send cvsimport cvsserver shell upload-pack receive-pack")
        .values(GIT),
    row("gh glab hub tea jira linear", Push),
    row("svn hg bzr fossil", Push).by("push pull commit checkout clone update"),
    row("arc phab", Push).by("land diff patch"),
    // Registries: JavaScript.
    row("npm pnpm yarn bun cnpm ni deno vlt", Publish)
        .by("publish unpublish deprecate undeprecate owner author access login logout adduser add-user token dist-tag dist-tags tag star \
             unstar hook org team profile workspace+*+publish workspace+*+npm+publish workspaces+foreach+npm+publish npm+publish npm+login npm+logout npm+tag npm+whoami whoami stage+publish trust")
        .except("--dry-run")
        .values(NODE),
    row("npm pnpm yarn bun cnpm deno", Install)
        .by("install i add update up upgrade uninstall un remove rm link ci in isntall r unlink ln")
        .with("-g --global --location=global")
        .values(NODE),
    row("yarn", Install).by("global").values(NODE),
    row("pnpm", Install).by("env setup self-update").values(NODE),
    row("lerna", Publish).by("publish version").values(NODE),
    row("nx", Publish).by("release nx-release-publish connect login").except("--dry-run").values(NODE),
    row("rush", Publish).by("publish"),
    row("turbo", Publish).by("login link"),
    row("changeset changesets @changesets/cli", Publish).by("publish tag"),
    row("semantic-release multi-semantic-release semantic-release-monorepo", Publish).except("--dry-run -d"),
    row("release-it np release-please standard-release auto beachball shipjs releaser release-plz", Publish)
        .except("--dry-run"),
    row("jsr ovsx vsce @vscode/vsce vsix", Publish).by("publish login unpublish create-publisher").except("--dry-run"),
    row("web-ext", Publish).by("sign"),
    // Python.
    row("twine", Publish).by("upload register").values(PYTHON),
    row("poetry uv flit hatch pdm rye maturin setuptools-rust conda-build pixi", Publish)
        .by("publish upload auth login self+update")
        .except("--dry-run")
        .values(PYTHON),
    row("conda mamba anaconda", Publish).by("upload login publish").values(PYTHON),
    row("python pypy", Publish).by("setup.py+upload setup.py+register setup.py+*+upload setup.py+*+*+upload").values("-W -X"),
    row("setup.py", Publish).tasks("upload register"),
    row("semantic-release python-semantic-release", Publish).by("publish"),
    row("uv", Install).by("tool+install tool+upgrade python+install").values(PYTHON),
    row("pipx", Install).by("install upgrade inject upgrade-all ensurepath"),
    row("huggingface-cli hf modal replicate wandb dvc mlflow kaggle", Publish)
        .by("upload login push repo deploy serve models datasets+create sync"),
    // Rust.
    row("cargo", Publish)
        .by("publish login logout owner yank release workspaces+publish ws+publish smart-release dist release-plz")
        .except("--dry-run -n")
        .values(CARGO),
    row("cargo-release cargo-dist cargo-smart-release", Publish),
    row("cargo", Install).by("install uninstall binstall install-update shuttle+deploy lambda+deploy").values(CARGO),
    row("rustup", Install)
        .by("update install default self toolchain+install toolchain+add toolchain+link toolchain+uninstall target+add component+add set"),
    // Ruby.
    row("gem", Publish).by("push yank owner signin signout").values(RUBY),
    row("gem", Install).by("install uninstall update i").except("--user-install --install-dir -i").values(RUBY),
    row("rake", Publish)
        .tasks("release release:* *:release *:push gem:push rubygems:* *:publish publish deploy deploy:* *:deploy publish:*")
        .values(RUBY),
    row("cap mina kamal dpl shipit", Deploy).except("--version version init setup:local"),
    row("fastlane", Deploy),
    row("pod", Publish).by("trunk repo+push repo+add"),
    // Java, Scala, Kotlin, Clojure.
    row("mvn mvnw mvnd", Publish)
        .tasks("deploy site-deploy release:* *:deploy* *maven-release-plugin* nexus-staging:* *nexus-staging* *central-publishing* jreleaser:* \
                jib:build *jib*:build docker:push dockerfile:push scm:checkin scm:tag scm:update wagon:* *:site-deploy spring-boot:publish* \
                gpg:sign-and-deploy-file jgitflow:* gitflow:*")
        .values(JAVA),
    row("gradle gradlew", Publish)
        .tasks("publish* upload* release* closeandrelease* *tomavencentral *tosonatype* *torepository jib jreleaser* \
                dockerpush* *dockerpush bintray* artifactorypublish artifactorydeploy appengine* appdistribution* githubrelease \
                promote*artifact *publishplugins")
        .except("publishToMavenLocal uploadArtifacts releaseUnitTest releaseNotes --dry-run")
        .values(JAVA),
    row("sbt", Publish)
        .tasks("*publish* *sonatype* *release release* *cirelease*")
        .except("publishLocal publishM2")
        .values("-D -J -mem"),
    row("mill", Publish).tasks("*publish* *publishall*").except("publishLocal"),
    row("lein clj clojure boot", Publish).tasks("deploy *:deploy release push"),
    row("ant", Publish).tasks("deploy publish release upload ivy-publish"),
    row("jreleaser", Publish),
    row("bazel bazelisk buck2 pants", Publish).by("publish").values("--config"),
    row("bazel bazelisk", Publish).tasks("*:push *.push *.publish *_push *:publish *:deploy *.deploy"),
    // .NET, PHP, Elixir, Dart, Haskell, others.
    row("dotnet", Publish).by("nuget+push nuget+delete nuget+sign nuget+trust nuget+add nuget+update nuget+remove"),
    row("dotnet", Install).by("tool+install tool+update workload").with("-g --global"),
    row("dotnet", Install).by("workload+install workload+update dev-certs"),
    row("nuget paket", Publish).by("push delete setapikey"),
    row("composer", Install).by("global self-update selfupdate"),
    row("phive pear pecl", Install).by("install channel-discover upgrade"),
    row("dep deployer vapor", Deploy).by("deploy rollback ssh run"),
    row("mix", Publish).tasks("hex.publish hex.user hex.owner hex.organization hex.retire edeliver"),
    row("mix", Install).tasks("archive.install escript.install local.hex local.rebar"),
    row("rebar3", Publish).tasks("hex publish"),
    row("dart flutter pub", Publish).by("pub+publish publish pub+login pub+token pub+lish lish").except("--dry-run -n"),
    row("dart flutter", Install).by("pub+global upgrade channel"),
    row("cabal stack", Publish).by("upload"),
    row("opam esy nimble luarocks raco cpan cpanm", Publish).by("publish upload"),
    row("cpan-upload minil shipit dzil", Publish).by("release").except("--dry-run"),
    row("luarocks cpan cpanm opam", Install).by("install").except("--local --local-lib -l -L --local-lib-contained"),
    row("go", Install).by("install"),
    row("goreleaser", Publish).except("check build healthcheck init --snapshot"),
    row("ko", Publish).except("--local --push=false"),
    // Containers, charts, clusters.
    row("docker podman nerdctl buildah", Daemon).except("--help ps"),
    row("docker-compose podman-compose", Daemon),
    row("skopeo crane oras regctl", Publish).by("copy push cp login delete sync tag append mutate attach blob+push manifest+push"),
    row("cosign notation rekor-cli", Publish).by("sign attest attach upload login sign-blob copy"),
    row("kaniko img jib ctr crictl minikube kind k3d k3s kubeadm vagrant multipass lxc incus virsh qemu-system-x86_64 tilt", Daemon),
    row("skaffold", Deploy).by("run dev deploy build delete apply"),
    row("helm", Deploy)
        .by("push install upgrade uninstall delete rollback registry repo+add repo+update pull cm-push s3 test")
        .values(CLOUD),
    row("helmfile", Deploy).by("apply sync destroy deps delete charts").values(CLOUD),
    row("kubectl oc k", Deploy)
        .except("get describe explain version logs top diff kustomize api-resources api-versions completion plugin options")
        .values(CLOUD),
    row("argocd flux istioctl linkerd velero kubeseal kapp kustomize-push werf okteto devspace garden eksctl", Deploy),
    row("kustomize", Deploy).by("push"),
    // Clouds.
    row("aws gcloud az gsutil bq azcopy doctl ibmcloud oci aliyun linode-cli hcloud scw exo vultr-cli s3cmd rclone mc b2 azd func", Deploy)
        .except("--help help"),
    row("copilot eb sam chalice zappa up apex claudia ecs-cli lambroll", Deploy)
        .by("deploy publish create delete init-app sync package svc+deploy job+deploy env+deploy pipeline update undeploy terminate up"),
    row("vercel now netlify netlify-cli firebase firebase-tools fly flyctl heroku surge wrangler @cloudflare/wrangler railway @railway/cli render \
         amplify @aws-amplify/cli sst eas eas-cli expo-cli shuttle ngrok localtunnel lt supabase planetscale pscale neonctl turso convex \
         partykit deployctl clasp @google/clasp shopify gh-pages appcenter codepush sentry-cli @sentry/cli newrelic bugsnag-cli \
         apphub stackblitz deta platform upsun lagoon acli pantheon terminus",
        Deploy)
        .except("build dev lint types init serve emulators:start emulators:exec check typegen complete"),
    row("serverless sls @serverless/cli", Deploy)
        .by("deploy remove invoke login logs rollback publish metrics dashboard")
        .values(CLOUD),
    row("cdk aws-cdk cdktf cdk8s", Deploy).by("deploy destroy bootstrap import watch rollback").values(CLOUD),
    row("terraform tofu terragrunt terramate", Deploy)
        .by("apply destroy import login logout push taint untaint refresh state force-unlock run-all run+apply run+destroy apply-all destroy-all workspace+delete")
        .values(CLOUD),
    row("pulumi", Deploy).by("up update destroy refresh import login logout stack cancel config state watch policy+publish").values(CLOUD),
    row("ansible ansible-playbook ansible-pull ansible-console salt salt-ssh chef-client knife puppet packer nomad consul vault nixops \
         deploy-rs colmena",
        Deploy)
        .except("--syntax-check validate fmt hcl2_upgrade"),
    row("nix", Install).by("profile+install profile+add copy upgrade-nix store+delete"),
    row("cachix attic", Publish).by("push authtoken use"),
    // Reports that are sent elsewhere.
    row("codecov codecov-cli codecovcli coveralls coveralls-lcov codeclimate-test-reporter cc-test-reporter sonar-scanner @sonar/scan snyk chromatic percy @percy/cli \
         lhci",
        Publish)
        .except("--help test code iac"),
    // Other machines.
    row("curl wget aria2c httpie http https xh fetch lynx links w3m lftp ftp sftp tftp ncftp curlie axel", Network),
    row("ssh scp sshpass autossh mosh ssh-copy-id ssh-add ssh-agent ssh-keyscan telnet rsh rlogin nc ncat netcat socat nmap ping traceroute \
         dig nslookup host whois mail sendmail mutt msmtp swaks cloudflared tailscale wg wg-quick openvpn frpc websocat grpcurl dropbear",
        Network),
    row("unison", Network),
    row("rsync", Network).tasks("*:*").values("-e --rsh --exclude --include --filter --files-from"),
    row("openssl", Network).by("s_client s_server s_time"),
    // System packages.
    row("apt apt-get aptitude dnf yum microdnf zypper pacman apk brew snap flatpak port emerge xbps-install pkg choco winget scoop nix-env \
         guix eopkg tdnf",
        Install)
        .except("list search show info --version"),
    row("dpkg rpm", Install).with("-i --install -r --remove -P --purge -U -e --configure --unpack -F --upgrade --erase"),
    row("pip", Install).by("install uninstall").with("--break-system-packages --root --target=/ --prefix=/"),
    row("nvm fnm n volta asdf mise rtx rbenv pyenv sdk jabba goenv tfenv", Install).by("install use+--default global uninstall upgrade pin"),
    // Daemons and timers.
    row("systemctl service initctl launchctl rc-service rc-update supervisorctl pm2 monit at batch crontab systemd-run machinectl loginctl \
         busctl dbus-send gdbus invoke-rc.d update-rc.d daemonize",
        Daemon)
        .except("status"),
    // The machine.
    row("mount umount sysctl useradd userdel usermod adduser deluser groupadd groupdel passwd chpasswd chsh visudo iptables ip6tables nft \
         ufw firewall-cmd modprobe insmod rmmod swapon swapoff losetup fdisk parted gdisk cryptsetup lvcreate mkswap \
         hostnamectl timedatectl localectl update-alternatives ldconfig setcap setfacl chattr grubby grub-install update-grub kexec telinit init \
         sudo su doas pkexec runuser chroot nsenter unshare bwrap capsh setpriv mknod ip ifconfig route tc ethtool brctl dmesg \
         auditctl apparmor_parser setenforce semanage update-ca-certificates trust security spctl csrutil defaults",
        System)
        .except("--help"),
];
