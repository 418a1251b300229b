package pluginfile

import (
	"debug/elf"
	"debug/macho"
	"io"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// Platform returns the platform that a program was built for, such as "linux/arm64". It returns
// "" if the file does not specify one, such as a script.
func Platform(path string) (string, error) {
	f, _, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return "", nil // an empty file is not a program
	}
	if string(magic) == elf.ELFMAG {
		return ofELF(f), nil
	}
	return ofMachO(f), nil
}

// ofELF assumes Linux for every ELF file, because its header rarely specifies the system.
func ofELF(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return ""
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "linux/amd64"
	case elf.EM_AARCH64:
		return "linux/arm64"
	}
	return "linux/" + f.Machine.String()
}

func ofMachO(r io.ReaderAt) string {
	f, err := macho.NewFile(r)
	if err != nil {
		return ""
	}
	switch f.Cpu {
	case macho.CpuAmd64:
		return "darwin/amd64"
	case macho.CpuArm64:
		return "darwin/arm64"
	}
	return ""
}
