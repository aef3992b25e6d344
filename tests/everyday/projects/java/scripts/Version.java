import java.nio.file.Files;
import java.nio.file.Path;

class Version {
    public static void main(String[] arguments) throws Exception {
        Path pom = Path.of("pom.xml");
        Files.writeString(pom, Files.readString(pom).replace("<version>1.0<", "<version>" + arguments[0] + "<"));
    }
}
